//! `manifest.json`: what a checkpoint holds.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::CheckpointError;
use crate::FileError;
use crate::units::{Bytes, Step};

/// The schema this program writes; it reads this one and those before.
///
/// Schema 2 added `manifest.b3`, which covers the manifest itself.
pub(super) const SCHEMA: u32 = 2;

/// The first schema with a hash of the manifest.
const HASHED: u64 = 2;

pub(super) const MANIFEST: &str = "manifest.json";

/// The file that holds the BLAKE3 hash of `manifest.json`, in hexadecimal.
pub(super) const MANIFEST_HASH: &str = "manifest.b3";

/// What a checkpoint holds, and how far the run was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of this format, see [`SCHEMA`].
    pub schema: u32,
    /// Steps taken in the whole run.
    pub step: Step,
    /// Epochs of the stage completed.
    pub epoch: u64,
    /// Steps of the present epoch already taken.
    pub schedule_position: u64,
    /// Every file of the checkpoint other than the manifest and its hash.
    pub files: Vec<FileEntry>,
    /// Free-form values by name: `config`, `plan`, `tokenizer`, `rng`, `metrics`
    /// and so on. Numbers that must come back bit for bit go through
    /// [`crate::exact`].
    pub sections: BTreeMap<String, Value>,
}

/// A file of a checkpoint as it was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEntry {
    /// The name relative to the checkpoint, with `/` between folders.
    pub name: String,
    /// The size of the file.
    pub bytes: Bytes,
    /// The BLAKE3 hash of the file, in hexadecimal.
    pub blake3: String,
}

impl Manifest {
    /// Reads and checks `folder/manifest.json`.
    pub(super) fn read(folder: &Path) -> Result<Self, CheckpointError> {
        let path = folder.join(MANIFEST);
        let text =
            read_file(&path)?.ok_or_else(|| CheckpointError::Missing { path: path.clone() })?;
        let hash_file = folder.join(MANIFEST_HASH);
        let hash = read_file(&hash_file)?;
        if let Some(hash) = &hash {
            // Checked before the text is parsed: what it says cannot be trusted either.
            let expected = String::from_utf8_lossy(hash).trim().to_owned();
            let found = blake3::hash(&text).to_hex().to_string();
            if found != expected {
                return Err(CheckpointError::Changed {
                    path,
                    found,
                    expected,
                });
            }
        }
        let malformed = |reason: String| CheckpointError::Malformed {
            path: path.clone(),
            reason,
        };
        // The schema is read first, because a newer one may have other fields.
        let value: Value =
            serde_json::from_slice(&text).map_err(|error| malformed(error.to_string()))?;
        let schema = value.get("schema").and_then(Value::as_u64);
        let schema = schema.ok_or_else(|| malformed("it has no `schema` number".into()))?;
        if schema > u64::from(SCHEMA) {
            return Err(CheckpointError::NewerSchema {
                path,
                found: schema,
                known: SCHEMA,
            });
        }
        if schema >= HASHED && hash.is_none() {
            return Err(CheckpointError::Missing { path: hash_file });
        }
        let manifest: Self =
            serde_json::from_value(value).map_err(|error| malformed(error.to_string()))?;
        // A name from a file is joined to a path below, so it is checked like
        // one from a caller.
        check_names(manifest.files.iter().map(|file| file.name.as_str()))
            .map_err(|error| malformed(error.to_string()))?;
        Ok(manifest)
    }
}

/// Reads a file; `None` when it does not exist.
fn read_file(path: &Path) -> Result<Option<Vec<u8>>, CheckpointError> {
    match std::fs::read(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        other => Ok(Some(other.map_err(FileError::when("read", path))?)),
    }
}

/// Refuses names that leave the checkpoint, mean different files on different
/// systems, or are given twice.
pub(super) fn check_names<'a>(names: impl Iterator<Item = &'a str>) -> Result<(), CheckpointError> {
    // Names are case-folded: Windows and macOS would write both to one file.
    let mut seen = BTreeSet::from([MANIFEST, MANIFEST_HASH].map(str::to_owned));
    for name in names {
        let refuse = |reason| {
            Err(CheckpointError::Name {
                name: name.into(),
                reason,
            })
        };
        if name.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return refuse("a part is empty, `.` or `..`");
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || "._-/".contains(c);
        if !name.chars().all(plain) {
            return refuse("it has characters other than letters, digits, `.`, `_` and `-`");
        }
        if !seen.insert(name.to_ascii_lowercase()) {
            return refuse("the name is taken");
        }
    }
    Ok(())
}
