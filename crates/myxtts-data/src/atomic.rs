//! Files that appear whole, or not at all.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use tempfile::NamedTempFile;

/// The start of a name that is not there to stay.
pub(crate) const UNFINISHED: &str = ".unfinished-";

/// A file in `folder` that has no name yet.
pub(crate) fn temporary(folder: &Path) -> io::Result<NamedTempFile> {
    myxtts_files::temporary(folder, UNFINISHED)
}

/// Writes a file, making its folder where there is none.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = myxtts_files::folder_of(path);
    fs::create_dir_all(folder)?;
    let file = temporary(folder)?;
    file.as_file().write_all(bytes)?;
    file.persist(path)?;
    Ok(())
}
