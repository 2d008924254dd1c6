//! A file as a slice of bytes.

use std::fs::{self, File};
use std::path::Path;

use memmap2::Mmap;

use super::fault::Fault;

/// Runs `read` over the bytes of the file at `path`.
///
/// The kind of file is checked before it is opened, because opening a pipe
/// waits for a writer that may never come.
pub(super) fn with_bytes<T>(
    path: &Path,
    read: impl FnOnce(&[u8]) -> Result<T, Fault>,
) -> Result<T, Fault> {
    let kind = fs::metadata(path)?;
    if kind.is_dir() {
        return Err(Fault::Directory);
    }
    if !kind.is_file() {
        return Err(Fault::NotAFile);
    }
    let file = File::open(path)?;
    // An empty file cannot be mapped on every system.
    if file.metadata()?.len() == 0 {
        return Err(Fault::Empty);
    }
    let bytes = map(&file)?;
    read(&bytes)
}

/// Maps `file` read-only.
#[expect(
    unsafe_code,
    reason = "a file mapping has no safe form; the argument is below"
)]
fn map(file: &File) -> Result<Mmap, Fault> {
    // SAFETY: the mapping is private to `with_bytes` and read-only, so this
    // program never writes through it. Another process could: if it changes the
    // bytes, the worst is a wrong sample, because every byte is read once as
    // plain data and no length, index or `str` is trusted across two reads of
    // the same place; if it shortens the file during the read, the system ends
    // this process with a bus error, which is loud and touches no memory of
    // ours. Recordings are written once and then read, so we take the mapping,
    // which saves the copy of every file.
    Ok(unsafe { Mmap::map(file) }?)
}
