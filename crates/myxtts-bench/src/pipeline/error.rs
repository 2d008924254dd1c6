//! Why nothing was measured.

use myxtts_audio::WriteError;
use myxtts_data::cache::CacheError;
use myxtts_data::dataset::CorpusError;
use myxtts_data::host_stage::EmptySchedule;
use myxtts_data::prepare::PrepareError;
use myxtts_data::schedule::ClipIndex;
use myxtts_model::dvae::DvaeConfigError;
use myxtts_model::params::ReadError;
use myxtts_pipeline::{Failure, SetupError};

/// The reasons for which nothing was measured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PipelineBenchError {
    /// No corpus could be generated.
    #[error(transparent)]
    Corpus(#[from] WriteError),
    /// No folder could be made for the corpus.
    #[error("cannot make a folder for the generated corpus: {0}")]
    Folder(std::io::Error),
    /// The corpus could not be prepared.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    /// The prepared corpus could not be read.
    #[error(transparent)]
    Clips(#[from] CorpusError),
    /// The corpus has no clip to schedule.
    #[error(transparent)]
    Empty(#[from] EmptySchedule),
    /// A clip has no bucket, although buckets hold every clip.
    #[error("clip {} of the dataset fits no bucket; this is a bug in the program", .0.0)]
    Unscheduled(ClipIndex),
    /// The sizes of the DVAE are not valid.
    #[error(transparent)]
    Dvae(#[from] DvaeConfigError),
    /// The DVAE's weights could not be read back.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The cache of codes could not be opened.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// The pipeline could not be put together.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// The pipeline stopped early.
    #[error(transparent)]
    Failed(#[from] Failure),
    /// A batch failed in the loop without a pipeline.
    #[error("step {step} of the loop without a pipeline failed: {why}")]
    Loop {
        /// The number of the step.
        step: u64,
        /// What failed in it.
        why: String,
    },
}
