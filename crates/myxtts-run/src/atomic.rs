//! Files that are either the old one or the new one, never a part.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// Replaces `path` by a file of `bytes`; a crash at any instant leaves one or
/// the other.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new()
        .prefix(".tmp-")
        .tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    sync_folder(folder)
}

/// Makes the names inside `folder` as durable as the files they name.
#[cfg(unix)]
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Windows keeps names durable by itself and opens no folder as a file.
#[cfg(not(unix))]
pub(crate) fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}
