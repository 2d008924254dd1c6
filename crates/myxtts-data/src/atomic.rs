//! Files that appear whole, or not at all.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use tempfile::NamedTempFile;

/// The prefix of the names of temporary files.
pub(crate) const UNFINISHED: &str = ".unfinished-";

/// Creates a temporary file in `folder`.
pub(crate) fn temporary(folder: &Path) -> io::Result<NamedTempFile> {
    myxtts_files::temporary(folder, UNFINISHED)
}

/// Writes a file whole or not at all, and creates its folder if needed.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = myxtts_files::folder_of(path);
    fs::create_dir_all(folder)?;
    let file = temporary(folder)?;
    file.as_file().write_all(bytes)?;
    file.persist(path)?;
    Ok(())
}
