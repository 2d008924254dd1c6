//! Why a training stopped.

use myxtts_pipeline::{Failure, SetupError};
use myxtts_run::checkpoint::CheckpointError;
use myxtts_run::guard::TooManyBadSteps;
use myxtts_run::metrics::MetricsError;

use crate::feed::{CorpusError, EmptySchedule};
use crate::team::{Abandoned, TeamError};

/// Why a training stopped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrainError {
    /// The data side.
    #[error(transparent)]
    Pipeline(#[from] Failure),
    /// It could not be put together.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// The dataset.
    #[error(transparent)]
    Corpus(#[from] CorpusError),
    /// Nothing to train on.
    #[error(transparent)]
    Empty(#[from] EmptySchedule),
    /// A step failed.
    #[error("step {step} failed: {why}")]
    Step {
        /// Which.
        step: u64,
        /// The engine's words, or the model's.
        why: String,
    },
    /// Too many steps without a number.
    #[error("{0}")]
    BadSteps(TooManyBadSteps),
    /// A replica stopped.
    #[error(transparent)]
    Team(#[from] TeamError),
    /// Replicas are not the same any more.
    #[error(
        "the replicas' weights are no longer the same after step {step}\n  why:   \
         replicas start equal and take the same steps, so a device computes wrongly or this is a \
         defect of the program\n  fix:   resume from the last checkpoint; if it happens again, \
         train on one GPU and report it"
    )]
    Diverged {
        /// When.
        step: u64,
    },
    /// Checkpoints.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// `metrics.jsonl`.
    #[error(transparent)]
    Metrics(#[from] MetricsError),
    /// A setting, or what it names.
    #[error("{0}")]
    Usage(String),
    /// Anything else, said by whom it happened to.
    #[error("{0}")]
    Failed(String),
}

impl TrainError {
    /// A step's failure.
    pub(crate) fn step(step: u64, why: impl Into<String>) -> Self {
        let why = why.into();
        Self::Step { step, why }
    }

    /// Anything with words.
    pub(crate) fn failed(why: impl std::fmt::Display) -> Self {
        Self::Failed(why.to_string())
    }
}

impl From<Abandoned> for TrainError {
    fn from(abandoned: Abandoned) -> Self {
        Self::Team(TeamError::Abandoned(abandoned))
    }
}
