//! Files that appear whole, or not at all.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use tempfile::NamedTempFile;

/// A file in `folder` that has no name yet, readable like any other file of
/// the user: the default of the crate is for secrets, and a manifest is none.
pub(crate) fn temporary(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".unfinished-");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644));
    builder.tempfile_in(folder)
}

/// Writes a file, making its folder where there is none.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let file = temporary(folder)?;
    file.as_file().write_all(bytes)?;
    file.persist(path)?;
    Ok(())
}
