//! Files and folders that appear whole or not at all.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use myxtts_files::PREFIX;

use crate::error::{Fault, WeightsError};

/// Writes a file, whole or not at all.
pub(super) fn write_file(path: &Path, bytes: &[u8]) -> Result<(), WeightsError> {
    myxtts_files::fill(path, PREFIX, |mut file| file.write_all(bytes))
        .map_err(|why| WeightsError::write(path, Fault::Io(why)))
}

/// Fills a folder beside `folder` and renames it. A folder that has anything in it
/// is not touched.
pub(super) fn write_folder(
    folder: &Path,
    fill: impl FnOnce(&Path) -> Result<(), WeightsError>,
) -> Result<(), WeightsError> {
    let wrong = |why: io::Error| WeightsError::write(folder, Fault::Io(why));
    match fs::read_dir(folder) {
        Ok(mut entries) => {
            if entries.next().is_some() {
                return Err(WeightsError::write(folder, Fault::Exists));
            }
            fs::remove_dir(folder).map_err(wrong)?;
        }
        Err(why) if why.kind() == io::ErrorKind::NotFound => {}
        Err(why) => return Err(wrong(why)),
    }
    let partial = partial(folder).map_err(wrong)?;
    let finished = fill(&partial).and_then(|()| fs::rename(&partial, folder).map_err(wrong));
    if finished.is_err() {
        // What cannot be removed is covered by the error that matters.
        let _ = fs::remove_dir_all(&partial);
    }
    finished
}

/// Makes an empty folder beside `folder`, named after it and this process.
fn partial(folder: &Path) -> io::Result<PathBuf> {
    let name = folder
        .file_name()
        .ok_or_else(|| io::Error::other("it has no name"))?;
    let partial = folder.with_file_name(format!(
        ".{}.partial-{}",
        name.to_string_lossy(),
        std::process::id()
    ));
    if let Some(parent) = partial.parent() {
        fs::create_dir_all(parent)?;
    }
    // A process with this id may have been killed here before.
    if partial.exists() {
        fs::remove_dir_all(&partial)?;
    }
    fs::create_dir(&partial)?;
    Ok(partial)
}
