//! Writing a checkpoint so that it appears at once, complete and durable.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use myxtts_files::sync_folder;

use super::content::{Body, Content, Snapshot};
use super::manifest::{FileEntry, MANIFEST, MANIFEST_HASH, Manifest, SCHEMA, check_names};
use super::store::folder_of;
use super::sweep::{REPLACED, UNFINISHED};
use super::{Best, CheckpointError};
use crate::FileError;
use crate::units::{Bytes, Step};

/// Makes a folder beside the checkpoints that nobody takes for one.
pub(super) fn aside(
    folder: &Path,
    prefix: &str,
    step: Step,
) -> Result<tempfile::TempDir, FileError> {
    tempfile::Builder::new()
        .prefix(&format!("{prefix}{step}-"))
        .tempdir_in(folder)
        .map_err(FileError::when("make a folder in", folder))
}

/// Writes `snapshot` below `folder`, and returns its size and why it is the best,
/// if it is.
pub(super) fn write(
    folder: &Path,
    snapshot: Snapshot<'_>,
) -> Result<(Bytes, Option<Best>), CheckpointError> {
    let Snapshot {
        step,
        epoch,
        schedule_position,
        sections,
        contents,
        best,
    } = snapshot;
    check_names(contents.iter().map(|content| content.name.as_str()))?;

    let unfinished = aside(folder, UNFINISHED, step)?;
    let mut folders = BTreeSet::from([unfinished.path().to_path_buf()]);
    let mut files = Vec::with_capacity(contents.len());
    for content in contents {
        let path = unfinished.path().join(&content.name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(FileError::when("make", parent))?;
            let inside = parent
                .ancestors()
                .take_while(|path| *path != unfinished.path());
            folders.extend(inside.map(Path::to_path_buf));
        }
        let entry = write_file(&path, content, &files)?;
        files.push(entry);
    }

    let manifest = Manifest {
        schema: SCHEMA,
        step,
        epoch,
        schedule_position,
        files,
        sections,
    };
    let text = serde_json::to_vec_pretty(&manifest)
        .map_err(io::Error::from)
        .map_err(FileError::when("write", unfinished.path().join(MANIFEST)))?;
    let own = |name: &str, bytes: Vec<u8>| {
        let path = unfinished.path().join(name);
        write_file(&path, Content::bytes(name, bytes), &[])
    };
    let written = own(MANIFEST, text)?;
    own(MANIFEST_HASH, format!("{}\n", written.blake3).into_bytes())?;
    for folder in &folders {
        sync_folder(folder).map_err(FileError::when("sync", folder))?;
    }

    publish(folder, unfinished, step)?;
    let bytes = manifest.files.iter().map(|file| file.bytes.0).sum();
    Ok((Bytes(bytes), best))
}

/// Renames `unfinished` to the name of the checkpoint. A folder cannot be
/// replaced in one step, so an older one of the same step is first moved to a
/// name from which the sweep puts it back.
fn publish(
    folder: &Path,
    unfinished: tempfile::TempDir,
    step: Step,
) -> Result<(), CheckpointError> {
    let place = folder_of(folder, step);
    let replaced = if place.exists() {
        let aside = aside(folder, REPLACED, step)?;
        // Renaming onto an empty folder is allowed on Unix, but not on Windows.
        fs::remove_dir(aside.path()).map_err(FileError::when("remove", aside.path()))?;
        let aside = aside.keep();
        fs::rename(&place, &aside).map_err(FileError::when("move aside", &place))?;
        Some(aside)
    } else {
        None
    };
    if let Err(error) = fs::rename(unfinished.path(), &place) {
        // Should this fail too, the next `Store::open` puts it back.
        if let Some(replaced) = &replaced {
            let _restored = fs::rename(replaced, &place);
        }
        return Err(FileError::when("rename to", place)(error).into());
    }
    // The folder was moved, so nothing is left for its destructor.
    let _moved = unfinished.keep();
    sync_folder(folder).map_err(FileError::when("sync", folder))?;
    if let Some(replaced) = replaced {
        fs::remove_dir_all(&replaced).map_err(FileError::when("remove", &replaced))?;
    }
    Ok(())
}

/// Deletes the checkpoint of `step`. Its name goes first, so that no half of it
/// is ever taken for a whole one.
pub(super) fn delete(folder: &Path, step: Step) -> Result<(), FileError> {
    let place = folder_of(folder, step);
    let doomed = aside(folder, UNFINISHED, step)?;
    fs::rename(&place, doomed.path().join("doomed")).map_err(FileError::when("delete", &place))?;
    doomed.close().map_err(FileError::when("delete", &place))
}

fn write_file(
    path: &Path,
    content: Content<'_>,
    before: &[FileEntry],
) -> Result<FileEntry, CheckpointError> {
    let mut file = Hashing {
        inner: BufWriter::with_capacity(
            1 << 20,
            File::create(path).map_err(FileError::when("create", path))?,
        ),
        hasher: blake3::Hasher::new(),
    };
    match content.body {
        Body::Bytes(bytes) => file.write_all(&bytes),
        Body::Writer(_, writer) => writer(&mut file),
        Body::Description(describe) => describe(before).and_then(|bytes| file.write_all(&bytes)),
    }
    .and_then(|()| file.flush())
    .and_then(|()| file.inner.get_ref().sync_all())
    .map_err(FileError::when("write", path))?;
    Ok(FileEntry {
        name: content.name,
        bytes: Bytes(file.hasher.count()),
        blake3: file.hasher.finalize().to_hex().to_string(),
    })
}

/// Hashes what passes through, so that the hash is of what was meant and not of
/// what a bad disk reads back.
struct Hashing {
    inner: BufWriter<File>,
    hasher: blake3::Hasher,
}

impl Write for Hashing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.hasher.update(bytes.get(..written).unwrap_or(bytes));
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
