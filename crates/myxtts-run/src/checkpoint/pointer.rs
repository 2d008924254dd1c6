//! `last.json` and `best.json`: which checkpoint is meant.

use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::CheckpointError;
use crate::FileError;
use crate::units::Step;

/// Why a checkpoint is the best one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Best {
    /// The name of the number that was compared, such as `val_loss`.
    pub metric: String,
    /// The value of that number.
    #[serde(with = "crate::exact_float")]
    pub value: f64,
}

/// The contents of `last.json`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct LastPointer {
    pub(super) step: Step,
}

/// The contents of `best.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct BestPointer {
    pub(super) step: Step,
    #[serde(flatten)]
    pub(super) best: Best,
}

pub(super) fn last_path(folder: &Path) -> PathBuf {
    folder.join("last.json")
}

pub(super) fn best_path(folder: &Path) -> PathBuf {
    folder.join("best.json")
}

pub(super) fn write(path: &Path, pointer: &impl Serialize) -> Result<(), CheckpointError> {
    serde_json::to_vec(pointer)
        .map_err(std::io::Error::from)
        .and_then(|mut text| {
            text.push(b'\n');
            myxtts_files::replace(path, &text)
        })
        .map_err(FileError::when("write", path))?;
    Ok(())
}

pub(super) fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, CheckpointError> {
    let text = match std::fs::read(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        other => other.map_err(FileError::when("read", path))?,
    };
    serde_json::from_slice(&text)
        .map(Some)
        .map_err(|error| CheckpointError::Pointer {
            path: path.into(),
            reason: error.to_string(),
        })
}
