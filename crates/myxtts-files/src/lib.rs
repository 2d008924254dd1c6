//! Files that appear whole or not at all.
//!
//! A file is written under a temporary name in its own folder and renamed: a
//! crash at any instant leaves the old one or the new one. The crate that makes
//! temporary files makes them for secrets, readable by their owner alone, and a
//! rename keeps that. Manifests, checkpoints and caches are not secrets: they get
//! the permissions that the umask gives any new file, so that a group of
//! colleagues can read what one of them trained.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use tempfile::NamedTempFile;

/// What temporary names begin with where nobody looks for them.
pub const PREFIX: &str = ".tmp-";

/// Returns the folder that `path` is in; a bare name is in the current one.
pub fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

/// Creates a file in `folder` under a temporary name that begins with `prefix`.
/// It is deleted when dropped, unless it was renamed before.
///
/// # Errors
/// When the folder cannot be written to.
pub fn temporary(folder: &Path, prefix: &str) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(prefix);
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(folder)
}

/// Replaces `path` by a file of `bytes` that survives a power cut.
///
/// # Errors
/// When it cannot be written; what was there before is untouched.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    fill(path, PREFIX, |mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    })?;
    sync_folder(folder_of(path))
}

/// Replaces `path` by a file that `write` fills, whole or not at all: until then it
/// has a temporary name that begins with `prefix`. A power cut may leave the name
/// without its bytes, unless `write` syncs the file.
///
/// # Errors
/// When it cannot be written; what was there before is untouched.
pub fn fill<E: From<io::Error>>(
    path: &Path,
    prefix: &str,
    write: impl FnOnce(&File) -> Result<(), E>,
) -> Result<(), E> {
    let file = temporary(folder_of(path), prefix)?;
    // Not through the wrapper, which would put a name that is gone by then into
    // every message.
    write(file.as_file())?;
    file.persist(path).map_err(|failed| failed.error)?;
    Ok(())
}

/// Makes the names inside `folder` as durable as the files they name.
///
/// # Errors
/// When the folder cannot be opened or synced.
#[cfg(unix)]
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Does nothing: Windows keeps names durable by itself, and does not open folders
/// as files.
///
/// # Errors
/// This never fails.
#[cfg(not(unix))]
pub fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// The umask is the process's, so it is read off a file made the usual way.
    #[test]
    fn a_replaced_file_has_the_permissions_of_any_new_one() {
        let folder = tempfile::tempdir().unwrap();
        let (usual, ours) = (folder.path().join("usual"), folder.path().join("ours"));
        fs::write(&usual, "x").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
        for text in ["first", "second"] {
            replace(&ours, text.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&ours).unwrap(), text);
            assert_eq!(mode(&ours), mode(&usual));
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_bare_name_is_in_the_current_folder() {
        assert_eq!(folder_of(Path::new("a.json")), Path::new("."));
        assert_eq!(folder_of(Path::new("a/b.json")), Path::new("a"));
    }
}
