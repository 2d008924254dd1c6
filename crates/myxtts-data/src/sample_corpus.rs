//! The sample corpus, inside the program: what `train` and `prepare` use when
//! they are given no dataset.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use myxtts_base::report;
use thiserror::Error;

use crate::atomic;

include!(concat!(env!("OUT_DIR"), "/corpus.rs"));

/// Why the sample corpus cannot be used.
#[derive(Debug, Error)]
pub enum SampleCorpusError {
    /// Neither `XDG_CACHE_HOME` nor `HOME` is set, so there is no folder to unpack it to.
    #[error(
        "{}",
        report!(
            "there is no cache folder for the sample corpus or the prepared files: neither \
             XDG_CACHE_HOME nor HOME is set";
            fix: "set one of them, or give --train-data and --prepared"
        )
    )]
    NoFolder,
    /// The corpus cannot be written.
    #[error(
        "{}",
        report!(
            "the sample corpus cannot be written to {}: {why}", path.display();
            fix: "make the folder writable, set XDG_CACHE_HOME to another one, or give a dataset \
                  folder"
        )
    )]
    Write {
        /// The file that cannot be written.
        path: PathBuf,
        /// The error of the operating system.
        why: io::Error,
    },
}

/// Returns the folder `myxtts` in the user's cache folder.
pub(crate) fn cache_folder() -> Result<PathBuf, SampleCorpusError> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let cache = match (set("XDG_CACHE_HOME"), set("HOME")) {
        (Some(cache), _) => PathBuf::from(cache),
        (None, Some(home)) => PathBuf::from(home).join(".cache"),
        (None, None) => return Err(SampleCorpusError::NoFolder),
    };
    Ok(cache.join("myxtts"))
}

/// Returns where the sample corpus is unpacked: `sample-corpus` in [`cache_folder`].
pub fn default_folder() -> Result<PathBuf, SampleCorpusError> {
    Ok(cache_folder()?.join("sample-corpus"))
}

/// Writes the sample corpus to `folder`, each file whole or not at all. Files that
/// are already right are left as they are.
pub fn unpack(folder: &Path) -> Result<(), SampleCorpusError> {
    for (name, bytes) in FILES {
        let path = folder.join(name);
        let is_right = fs::read(&path).is_ok_and(|found| found == *bytes);
        if !is_right {
            atomic::write(&path, bytes).map_err(|why| SampleCorpusError::Write { path, why })?;
        }
    }
    Ok(())
}
