//! A checkpoint on disk, trusted only after its hashes were checked.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::manifest::FileEntry;
use super::store::folder_of;
use super::{CheckpointError, Manifest, sweep};
use crate::FileError;
use crate::units::{Bytes, Step};

/// A checkpoint whose manifest was read. Its files are checked as they are
/// loaded, or all at once by [`Checkpoint::verify`].
#[derive(Clone, Debug)]
pub struct Checkpoint {
    folder: PathBuf,
    manifest: Manifest,
}

impl Checkpoint {
    /// Opens the newest of a folder of checkpoints, and touches nothing there:
    /// another run may be writing it.
    ///
    /// # Errors
    /// When the folder or the manifest cannot be read.
    pub fn newest(checkpoints: &Path) -> Result<Option<Self>, CheckpointError> {
        let newest = sweep::steps(checkpoints)?.last().copied();
        newest
            .map(|step| Self::open(folder_of(checkpoints, step)))
            .transpose()
    }

    /// Opens those of a folder of checkpoints whose files are all as they were
    /// written, lowest step first. Every file is read.
    ///
    /// # Errors
    /// When the folder cannot be listed.
    pub fn whole(checkpoints: &Path) -> Result<Vec<Self>, CheckpointError> {
        let opened = sweep::steps(checkpoints)?.into_iter().map(|step| {
            let found = Self::open(folder_of(checkpoints, step)).ok()?;
            found.verify().is_ok().then_some(found)
        });
        Ok(opened.flatten().collect())
    }

    /// Opens the checkpoint in `folder`.
    ///
    /// # Errors
    /// When its manifest cannot be read.
    pub fn open(folder: PathBuf) -> Result<Self, CheckpointError> {
        let manifest = Manifest::read(&folder)?;
        Ok(Self { folder, manifest })
    }

    /// Returns the checkpoint's folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the manifest that was read.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Returns the step the checkpoint was saved at.
    pub fn step(&self) -> Step {
        self.manifest.step
    }

    /// Checks the size and the hash of every file, without keeping any in
    /// memory.
    ///
    /// # Errors
    /// For the first file that is missing, truncated or changed.
    pub fn verify(&self) -> Result<(), CheckpointError> {
        self.manifest.files.iter().try_for_each(|entry| {
            let path = self.sized(entry)?;
            let mut hasher = blake3::Hasher::new();
            File::open(&path)
                .and_then(|mut file| io::copy(&mut file, &mut hasher))
                .map_err(FileError::when("read", &path))?;
            same_hash(path, entry, hasher.finalize())
        })
    }

    /// Reads the file `name`, and checks its size and hash.
    ///
    /// # Errors
    /// When the checkpoint has no such file, or it is not as it was written.
    pub fn load(&self, name: &str) -> Result<Vec<u8>, CheckpointError> {
        let entry = self.manifest.files.iter().find(|entry| entry.name == name);
        let entry = entry.ok_or_else(|| CheckpointError::Missing {
            path: self.folder.join(name),
        })?;
        let path = self.sized(entry)?;
        let bytes = std::fs::read(&path).map_err(FileError::when("read", &path))?;
        same_hash(path, entry, blake3::hash(&bytes))?;
        Ok(bytes)
    }

    /// Returns the path of `entry` once its size is right: that is cheaper than a
    /// hash, and says more clearly what happened.
    fn sized(&self, entry: &FileEntry) -> Result<PathBuf, CheckpointError> {
        let path = self.folder.join(&entry.name);
        let found = match std::fs::metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(CheckpointError::Missing { path });
            }
            other => Bytes(other.map_err(FileError::when("read", &path))?.len()),
        };
        if found != entry.bytes {
            return Err(CheckpointError::Size {
                path,
                found,
                expected: entry.bytes,
            });
        }
        Ok(path)
    }
}

fn same_hash(path: PathBuf, entry: &FileEntry, hash: blake3::Hash) -> Result<(), CheckpointError> {
    let found = hash.to_hex().to_string();
    if found == entry.blake3 {
        return Ok(());
    }
    Err(CheckpointError::Changed {
        path,
        found,
        expected: entry.blake3.clone(),
    })
}
