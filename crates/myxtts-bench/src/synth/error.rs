//! Why no speech was measured.

use std::error::Error;
use std::io;
use std::path::PathBuf;

use myxtts_base::report;

/// Why no speech was measured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SynthError {
    /// The reference's Python could not be started.
    #[error("{}", report!(
        "{} cannot be started: {source}", python.display();
        fix: "give the Python of an environment with coqui-tts, as \
              benchmarks/synth_vs_reference.py describes"
    ))]
    Python {
        /// The program that was to be started.
        python: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The reference did not do what it was asked for.
    #[error("the reference did not answer: {why}")]
    Peer {
        /// What came instead of an answer.
        why: String,
    },
    /// A folder for the model could not be made.
    #[error("cannot make a folder for the model: {0}")]
    Folder(io::Error),
    /// A model could not be made, or could not speak.
    #[error(transparent)]
    Speech(Box<dyn Error + Send + Sync>),
}

/// Says that a model could not be made, or could not speak.
pub(super) fn failed(error: impl Into<Box<dyn Error + Send + Sync>>) -> SynthError {
    SynthError::Speech(error.into())
}
