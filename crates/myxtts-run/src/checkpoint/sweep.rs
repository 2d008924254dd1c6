//! Tidying up what a crash left behind.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use myxtts_files::sync_folder;

use super::CheckpointError;
use super::store::{folder_of, step_of};
use crate::FileError;
use crate::units::Step;

/// Prefix of what is being written or deleted.
pub(super) const UNFINISHED: &str = ".tmp-";
/// Prefix of what is being replaced.
pub(super) const REPLACED: &str = ".old-";

/// What [`super::Store::open`] tidied up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Half-written folders and files that were removed.
    pub removed: Vec<PathBuf>,
    /// Checkpoints put back because their replacement was never finished.
    pub restored: Vec<Step>,
}

impl fmt::Display for Swept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for path in &self.removed {
            writeln!(
                f,
                "removed {}, left unfinished by an earlier run",
                path.display()
            )?;
        }
        for step in &self.restored {
            writeln!(
                f,
                "restored the checkpoint of step {step}: its replacement was never finished"
            )?;
        }
        Ok(())
    }
}

/// Removes what is unfinished and puts back what was about to be replaced.
pub(super) fn sweep(folder: &Path) -> Result<Swept, CheckpointError> {
    let mut swept = Swept::default();
    let entries = fs::read_dir(folder).map_err(FileError::when("list", folder))?;
    let mut paths = Vec::new();
    for entry in entries {
        paths.push(entry.map_err(FileError::when("list", folder))?.path());
    }
    paths.sort();
    for path in paths {
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        if let Some(rest) = name.strip_prefix(REPLACED) {
            let step = rest
                .split('-')
                .next()
                .and_then(|step| step.parse().ok())
                .map(Step);
            if let Some(step) = step.filter(|step| !folder_of(folder, *step).exists()) {
                fs::rename(&path, folder_of(folder, step))
                    .map_err(FileError::when("put back", &path))?;
                swept.restored.push(step);
                continue;
            }
        } else if !name.starts_with(UNFINISHED) {
            continue;
        }
        let removed = if path.is_dir() {
            fs::remove_dir_all(&path)
        } else {
            fs::remove_file(&path)
        };
        removed.map_err(FileError::when("remove", &path))?;
        swept.removed.push(path);
    }
    sync_folder(folder).map_err(FileError::when("sync", folder))?;
    Ok(swept)
}

/// Returns the steps that have a folder.
pub(super) fn steps(folder: &Path) -> Result<std::collections::BTreeSet<Step>, CheckpointError> {
    let entries = fs::read_dir(folder).map_err(FileError::when("list", folder))?;
    let mut steps = std::collections::BTreeSet::new();
    for entry in entries {
        let entry = entry.map_err(FileError::when("list", folder))?;
        steps.extend(entry.file_name().to_str().and_then(step_of));
    }
    Ok(steps)
}
