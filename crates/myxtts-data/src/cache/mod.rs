//! The feature cache: one file per entry, named by what it was made from.
//!
//! An entry's name is the hash of the recording's content and of everything
//! that shaped the features, so that a stale entry is never asked for
//! again. An entry appears by a rename: several processes may fill one cache,
//! and `kill -9` leaves a temporary file at worst, which the next opening
//! sweeps. Reading checks the whole format and the checksum; a damaged entry
//! is reported, removed and made again.

mod format;

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use myxtts_base::report;
use thiserror::Error;

pub use format::{Element, EntryShape, Malformed};

use crate::atomic;

/// The hash of what an entry is made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EntryKey([u8; 32]);

impl EntryKey {
    /// Makes the key of `kind` features of a recording with the given content hash,
    /// made under a configuration with the given hash.
    pub fn new(kind: &str, content: &[u8; 32], configuration: &[u8; 32]) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&(kind.len() as u64).to_le_bytes());
        hasher.update(kind.as_bytes());
        hasher.update(content);
        hasher.update(configuration);
        Self(*hasher.finalize().as_bytes())
    }

    fn name(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// A folder of cached features.
#[derive(Clone, Debug)]
pub struct FeatureCache {
    root: PathBuf,
}

/// A cached entry. It is read and not mapped: a mapped file that somebody shortens
/// ends the process, and entries are small.
#[derive(Debug)]
pub struct CachedFeatures {
    entry: Vec<u8>,
    shape: EntryShape,
}

/// What went wrong with a cache.
#[derive(Debug, Error)]
pub enum CacheError {
    /// The folder cannot be used.
    #[error(
        "{}",
        report!(
            "the feature cache {} cannot be used: {why}", path.display();
            fix: "make the folder writable, or set data.cache to none"
        )
    )]
    Folder {
        /// The folder of the cache.
        path: PathBuf,
        /// The error of the operating system.
        why: io::Error,
    },
    /// An entry could not be written; the cache is as it was before.
    #[error(
        "{}",
        report!(
            "a feature could not be cached in {}: {why}", path.display();
            fix: "free some disk space (what is already cached stays valid), or set data.cache to \
                  memory or none"
        )
    )]
    Write {
        /// The folder of the cache.
        path: PathBuf,
        /// The error of the operating system.
        why: io::Error,
    },
    /// The shape and the payload disagree.
    #[error("a feature of {found} bytes was given for a shape of {needed}")]
    Shape {
        /// The number of bytes the shape needs.
        needed: usize,
        /// The number of bytes given.
        found: usize,
    },
}

/// The result of looking up an entry.
#[derive(Debug)]
pub enum Lookup {
    /// The entry is there and whole.
    Hit(CachedFeatures),
    /// There is no such entry.
    Miss,
    /// The entry was damaged and has been removed.
    Damaged(Malformed),
}

/// The age at which a temporary file is taken to be abandoned.
const ORPHANED_AFTER: Duration = Duration::from_secs(3600);

impl FeatureCache {
    /// Opens a cache, creating the folder if needed, and sweeps what a killed
    /// process left behind.
    pub fn open(root: &Path) -> Result<Self, CacheError> {
        let cache = Self {
            root: root.to_owned(),
        };
        let folder = |why| CacheError::Folder {
            path: root.to_owned(),
            why,
        };
        fs::create_dir_all(cache.temporary()).map_err(folder)?;
        cache.sweep(ORPHANED_AFTER).map_err(folder)?;
        Ok(cache)
    }

    /// Looks up the entry under `key`, and removes it if it is damaged.
    pub fn get(&self, key: &EntryKey) -> io::Result<Lookup> {
        let path = self.path(key);
        let named =
            |why: io::Error| io::Error::new(why.kind(), format!("{}: {why}", path.display()));
        let mut file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Lookup::Miss),
            Err(error) => return Err(named(error)),
        };
        let damaged = |why| {
            // Another process may have removed it first.
            let _ = fs::remove_file(&path);
            Ok(Lookup::Damaged(why))
        };
        if file.metadata().map_err(named)?.len() > format::LARGEST {
            return damaged(Malformed::TooLarge);
        }
        let mut entry = Vec::new();
        file.read_to_end(&mut entry).map_err(named)?;
        match format::parse(&entry, &key.0) {
            Ok(shape) => Ok(Lookup::Hit(CachedFeatures { entry, shape })),
            Err(why) => damaged(why),
        }
    }

    /// Stores an entry, whole or not at all.
    pub fn put(&self, key: &EntryKey, shape: EntryShape, payload: &[u8]) -> Result<(), CacheError> {
        let needed = shape.payload().unwrap_or(usize::MAX);
        if payload.len() != needed {
            return Err(CacheError::Shape {
                needed,
                found: payload.len(),
            });
        }
        let write = || -> io::Result<()> {
            let path = self.path(key);
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder)?;
            }
            let file = atomic::temporary(&self.temporary())?;
            // Writing past the wrapper keeps the temporary name, which is gone by
            // then, out of every message.
            let mut bytes = file.as_file();
            bytes.write_all(&format::header(shape, &key.0, payload))?;
            bytes.write_all(payload)?;
            // The bytes go before the name: after a power cut a name without its
            // bytes would only be a damaged entry, but a noisy one.
            bytes.sync_data()?;
            file.persist(path)?;
            Ok(())
        };
        write().map_err(|why| CacheError::Write {
            path: self.root.clone(),
            why,
        })
    }

    fn path(&self, key: &EntryKey) -> PathBuf {
        let name = key.name();
        // 256 folders: a hundred thousand clips are four hundred files each.
        self.root.join(&name[..2]).join(&name[2..])
    }

    fn temporary(&self) -> PathBuf {
        self.root.join("tmp")
    }

    fn sweep(&self, older_than: Duration) -> io::Result<()> {
        for entry in fs::read_dir(self.temporary())? {
            let entry = entry?;
            let modified = entry.metadata().and_then(|metadata| metadata.modified());
            let age = modified
                .ok()
                .and_then(|time| SystemTime::now().duration_since(time).ok());
            if age.is_some_and(|age| age > older_than) {
                // Another process may have swept it in the meantime.
                let _ = fs::remove_file(entry.path());
            }
        }
        Ok(())
    }
}

impl CachedFeatures {
    /// Returns the element type, the rows and the columns.
    pub fn shape(&self) -> EntryShape {
        self.shape
    }

    /// Returns the elements as little-endian bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.entry[format::HEADER..]
    }
}
