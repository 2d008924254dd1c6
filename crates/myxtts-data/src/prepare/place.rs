//! Where the results of a preparation go when nobody says.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::sample_corpus::{SampleCorpusError, cache_folder};

/// A folder for the results.
#[derive(Debug)]
pub struct Place {
    /// The folder to use.
    pub folder: PathBuf,
    /// The folder in the dataset and why it is not that one, if it is not.
    pub refused: Option<(PathBuf, io::Error)>,
}

/// Returns `myxtts` in the dataset's folder, with the dataset and not hidden; where
/// that may not be written to, a folder of its own in the user's cache.
pub fn place(dataset: &Path) -> Result<Place, SampleCorpusError> {
    let root = match dataset.is_file() {
        true => dataset.parent().unwrap_or(Path::new("")),
        false => dataset,
    };
    let folder = root.join("myxtts");
    // A dataset that does not exist is reported as such, and nothing is made for it.
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

/// Returns why a folder may not be written to. Everything else that can be wrong
/// with it is reported by whoever writes.
fn refusal(folder: &Path) -> Option<io::Error> {
    let there = folder.is_dir();
    let tried = match there {
        true => tempfile::tempfile_in(folder).map(|_| ()),
        // Made and removed again, so that asking leaves nothing behind.
        false => fs::create_dir(folder).and_then(|()| fs::remove_dir(folder)),
    };
    let why = tried.err()?;
    let is_refused = matches!(
        why.kind(),
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem
    );
    is_refused.then_some(why)
}
