//! Where the results of a preparation go when nobody says.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::corpus::{CorpusError, cache_folder};

/// A folder for the results.
#[derive(Debug)]
pub struct Place {
    /// The folder.
    pub folder: PathBuf,
    /// The folder in the dataset, and why it is not that one.
    pub refused: Option<(PathBuf, io::Error)>,
}

/// `myxtts` in the dataset's folder, with the dataset and not hidden; else,
/// where that may not be written to, a folder of its own in the user's cache.
pub fn place(dataset: &Path) -> Result<Place, CorpusError> {
    let root = match dataset.is_file() {
        true => dataset.parent().unwrap_or(Path::new("")),
        false => dataset,
    };
    let folder = root.join("myxtts");
    // What is not a dataset is told as such, and nothing is made in it.
    let Some(why) = refusal(&folder).filter(|_| dataset.exists()) else {
        return Ok(Place {
            folder,
            refused: None,
        });
    };
    let path = fs::canonicalize(root).unwrap_or_else(|_| root.to_owned());
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let hash = blake3::hash(path.as_os_str().as_encoded_bytes()).to_hex();
    let own = format!("{name}-{}", &hash[..12]);
    Ok(Place {
        folder: cache_folder()?.join("prepared").join(own),
        refused: Some((folder, why)),
    })
}

/// Why a folder may not be written to. Everything else that can be wrong with
/// it is told by who writes.
fn refusal(folder: &Path) -> Option<io::Error> {
    let there = folder.is_dir();
    let tried = match there {
        true => tempfile::tempfile_in(folder).map(|_| ()),
        // Made and taken away again: nothing is left by who only asks.
        false => fs::create_dir(folder).and_then(|()| fs::remove_dir(folder)),
    };
    let why = tried.err()?;
    let is_refused = matches!(
        why.kind(),
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem
    );
    is_refused.then_some(why)
}
