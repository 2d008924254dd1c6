//! Why a training stopped.

use std::error::Error;
use std::fmt;

use myxtts_base::{Report, report};
use myxtts_data::dataset::CorpusError;
use myxtts_data::host_stage::EmptySchedule;
use myxtts_data::schedule::BucketShape;
use myxtts_device::{EngineError, oom_line};
use myxtts_pipeline::{Failure, SetupError};
use myxtts_run::FileError;
use myxtts_run::checkpoint::CheckpointError;
use myxtts_run::guard::TooManyBadSteps;
use myxtts_run::metrics::MetricsError;
use myxtts_run::signals::StopRequest;

use crate::feed::BatchStats;
use crate::train_loop::{PeerLost, ReplicaError};

/// The reasons for which a training stops early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrainError {
    /// The data pipeline failed.
    #[error(transparent)]
    Pipeline(#[from] Failure),
    /// The pipeline could not be put together.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// The dataset cannot be used.
    #[error(transparent)]
    Corpus(#[from] CorpusError),
    /// The schedule holds no batch to train on.
    #[error(transparent)]
    Empty(#[from] EmptySchedule),
    /// A training step failed.
    #[error("step {step} failed: {why}")]
    Step {
        /// The number of the step in its stage.
        step: u64,
        /// What the engine or the model reported.
        why: EngineError,
    },
    /// A device had no memory left.
    #[error("{}", report!(
        "{when} ran out of device memory";
        found: "{found}";
        fix: "halve --batch-size, and double --grad-accum to keep the clips of a step"
    ))]
    OutOfMemory {
        /// The step or other work in which it happened: "step 3", "the warm-up".
        when: String,
        /// Rows and shapes of the batches, where they are known, and what the engine reported,
        /// without its backtrace.
        found: String,
    },
    /// Too many steps in a row had a loss or gradient that was not finite.
    #[error("{0}")]
    BadSteps(TooManyBadSteps),
    /// Another replica stopped, or gradients could not be averaged.
    #[error(transparent)]
    Replica(#[from] ReplicaError),
    /// The replicas no longer hold the same weights.
    #[error("{}", report!(
        "the replicas' weights are no longer the same after step {step}";
        why: "replicas start equal and take the same steps, so a device computes wrongly or this \
              is a defect of the program";
        fix: "resume from the last checkpoint; if it happens again, train on one GPU and report it"
    ))]
    Diverged {
        /// The step after which they differed.
        step: u64,
    },
    /// A checkpoint could not be written or read.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// A file of the run could not be written or read.
    #[error(transparent)]
    File(#[from] FileError),
    /// `metrics.jsonl` could not be written or read.
    #[error(transparent)]
    Metrics(#[from] MetricsError),
    /// A stop was requested during work that can be repeated later.
    #[error("stopped on request")]
    Stopped,
    /// A setting, or what it names, cannot be used.
    #[error("{0}")]
    Usage(Report),
    /// A failure that is described where it happened.
    #[error("{0}")]
    Failed(Report),
    /// Any other error of the crates below, as it came.
    #[error(transparent)]
    Other(Box<dyn Error + Send + Sync>),
}

impl TrainError {
    /// Makes the error of a failed step.
    pub(crate) fn step(step: u64, why: impl Into<EngineError>) -> Self {
        let why = why.into();
        Self::Step { step, why }
    }

    /// Turns the error into [`Self::OutOfMemory`] where that is what failed. Step 0 is the
    /// warm-up.
    pub(crate) fn in_batch(self, step: u64, stats: &BatchStats) -> Self {
        let (Self::Step { why, .. } | Self::Replica(ReplicaError::Device(why))) = &self else {
            return self;
        };
        let EngineError::OutOfMemory { line } = why else {
            return self;
        };
        let when = match step {
            0 => "the warm-up".to_owned(),
            step => format!("step {step}"),
        };
        Self::out_of_memory(when, line, &stats.shapes)
    }

    /// Makes the error of work on batches of these shapes that ran out of memory, as `line` of
    /// the engine's report says.
    pub(crate) fn out_of_memory(when: String, line: &str, shapes: &[(usize, BucketShape)]) -> Self {
        let batches = shapes.iter().map(|(rows, shape)| {
            let (text, codes) = (shape.text.0, shape.audio.0);
            format!("a batch of {rows} rows of {text} text tokens and {codes} codes")
        });
        let batches = batches.collect::<Vec<_>>().join(", ");
        Self::OutOfMemory {
            when,
            found: format!("{batches}; the device says: {line}"),
        }
    }

    /// Returns whether a device ran out of memory.
    pub fn is_out_of_memory(&self) -> bool {
        match self {
            Self::OutOfMemory { .. } => true,
            Self::Step { why, .. } | Self::Replica(ReplicaError::Device(why)) => {
                matches!(why, EngineError::OutOfMemory { .. })
            }
            // What a stage of the pipeline or the engine below a crate reports is only a text.
            other => oom_line(&other.to_string()).is_some(),
        }
    }

    /// Whether this only says that a wait ended because `stop` was requested: a stop closes the
    /// pipeline, and replicas stop waiting for each other.
    pub(crate) fn is_let_go(&self, stop: &StopRequest) -> bool {
        let ends_a_wait = matches!(
            self,
            Self::Stopped
                | Self::Pipeline(Failure::Requested)
                | Self::Replica(ReplicaError::PeerLost(_))
        );
        ends_a_wait && stop.is_asked()
    }

    /// Carries any error, or a sentence about one.
    pub(crate) fn failed(why: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Other(why.into())
    }

    /// Makes the error of a setting, or of what it names, in the words of the error that found it.
    pub(crate) fn usage(why: impl fmt::Display) -> Self {
        Self::Usage(Report::new(why.to_string()))
    }
}

/// Fails with [`TrainError::Stopped`] once a stop has been requested.
pub(crate) fn unless_stopped(stop: &StopRequest) -> Result<(), TrainError> {
    match stop.is_asked() {
        true => Err(TrainError::Stopped),
        false => Ok(()),
    }
}

impl From<PeerLost> for TrainError {
    fn from(peer_lost: PeerLost) -> Self {
        Self::Replica(ReplicaError::PeerLost(peer_lost))
    }
}

#[cfg(test)]
mod tests {
    use myxtts_data::units::{Codes, Tokens};

    use super::*;

    fn stats() -> BatchStats {
        let shape = BucketShape {
            text: Tokens(120),
            audio: Codes(180),
        };
        BatchStats {
            shapes: vec![(16, shape)],
            ..BatchStats::default()
        }
    }

    #[test]
    fn memory_that_ran_out_is_told_with_its_bucket() {
        let why = "An error happened\nout of device memory allocating 4096 bytes\n  at frame 1";
        let error = TrainError::step(7, why).in_batch(7, &stats());
        insta::assert_snapshot!(error);
        let device = ReplicaError::Device(EngineError::new("can't allocate buffer of size: 12"));
        let error = TrainError::Replica(device).in_batch(0, &stats());
        assert!(matches!(error, TrainError::OutOfMemory { .. }));
        assert!(error.to_string().starts_with("the warm-up ran out"));
    }

    #[test]
    fn other_errors_stay() {
        let error = TrainError::step(7, "the device was lost").in_batch(7, &stats());
        assert!(matches!(error, TrainError::Step { step: 7, .. }), "{error}");
    }
}
