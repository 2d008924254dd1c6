//! What can go wrong with a metrics file.

use std::path::PathBuf;

use myxtts_base::report;

use crate::FileError;

/// A metrics file that could not be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MetricsError {
    /// The file system refused.
    #[error(transparent)]
    Io(#[from] FileError),
    /// A line before the last is not a record.
    #[error(
        "{}",
        report!(
            "{}:{line} is not a metrics record: {reason}", path.display();
            fix: "correct or remove that line, or move the file away"
        )
    )]
    Line {
        /// The path of the metrics file.
        path: PathBuf,
        /// The number of the line, from 1.
        line: usize,
        /// What is wrong with the line.
        reason: String,
    },
}
