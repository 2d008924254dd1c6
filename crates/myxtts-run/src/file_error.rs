//! A file system that refused.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// What was tried on which path, and why it failed.
#[derive(Debug)]
pub struct FileError {
    /// What was tried.
    pub action: &'static str,
    /// On what.
    pub path: PathBuf,
    /// Why not.
    pub source: io::Error,
}

impl FileError {
    /// For `map_err`.
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
