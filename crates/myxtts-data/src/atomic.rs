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
    fs::create_dir_all(myxtts_files::folder_of(path))?;
    myxtts_files::fill(path, UNFINISHED, |mut file| file.write_all(bytes))
}
