//! Why nothing was measured.

use myxtts_data::bench::BenchError;
use myxtts_data::cache::CacheError;
use myxtts_data::dataset::CorpusError;
use myxtts_data::prepare::PrepareError;
use myxtts_data::schedule::ClipIndex;
use myxtts_data::stage::EmptySchedule;
use myxtts_model::dvae::DvaeConfigError;
use myxtts_model::params::ReadError;
use myxtts_pipeline::{Failure, SetupError};

/// Why nothing was measured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PipelineBenchError {
    /// No corpus.
    #[error(transparent)]
    Corpus(#[from] BenchError),
    /// No folder for it.
    #[error("cannot make a folder for the generated corpus: {0}")]
    Folder(std::io::Error),
    /// It was not prepared.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    /// It cannot be used.
    #[error(transparent)]
    Clips(#[from] CorpusError),
    /// No clips.
    #[error(transparent)]
    Empty(#[from] EmptySchedule),
    /// A clip without a bucket, although buckets hold every clip.
    #[error("clip {} of the dataset fits no bucket; this is a bug in the program", .0.0)]
    Unscheduled(ClipIndex),
    /// The DVAE.
    #[error(transparent)]
    Dvae(#[from] DvaeConfigError),
    /// Its weights could not be read back.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The cache of codes.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// The pipeline cannot be put together.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// It stopped.
    #[error(transparent)]
    Failed(#[from] Failure),
    /// A batch of the loop without a pipeline.
    #[error("step {step} of the loop without a pipeline failed: {why}")]
    Loop {
        /// Which.
        step: u64,
        /// Why.
        why: String,
    },
}
