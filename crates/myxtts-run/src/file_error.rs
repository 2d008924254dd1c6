//! Failures of the file system, with the path.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// A failed file operation: what was tried on which path, and why it failed.
#[derive(Debug)]
pub struct FileError {
    /// What was tried, as in "cannot `action` the file".
    pub action: &'static str,
    /// The file or folder it was tried on.
    pub path: PathBuf,
    /// The system's own error.
    pub source: io::Error,
}

impl FileError {
    /// Returns a closure for `map_err` that adds what was tried, and on which path.
    pub fn when(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self {
            action,
            path,
            source,
        }
    }
}

impl std::error::Error for FileError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            action,
            path,
            source,
        } = self;
        write!(f, "cannot {action} {}: {source}", path.display())?;
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                write!(f, "; free some space, or keep fewer checkpoints")
            }
            io::ErrorKind::PermissionDenied => write!(f, "; check who owns the run folder"),
            _ => Ok(()),
        }
    }
}
