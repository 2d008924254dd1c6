//! The checkpoints of one run.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::pointer::{self, BestPointer, LastPointer, best_path, last_path};
use super::{Best, Checkpoint, CheckpointError, Retention, Snapshot, Swept, sweep, write};
use crate::FileError;
use crate::units::{Bytes, Step};

/// The folder of a run's checkpoints.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    retention: Retention,
    resumed: Option<Step>,
    /// Checkpoints after the one the run was resumed from; deleted once the run
    /// has saved one of its own.
    superseded: Vec<Step>,
}

/// What a save did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saved {
    /// The step of the checkpoint.
    pub step: Step,
    /// The folder of the checkpoint.
    pub folder: PathBuf,
    /// The size of its files, without the manifest.
    pub bytes: Bytes,
    /// Time that writing it took.
    pub took: Duration,
    /// Steps of checkpoints that retention deleted.
    pub deleted: Vec<Step>,
    /// Steps of checkpoints deleted because the run was resumed from an earlier one.
    pub superseded: Vec<Step>,
}

impl Store {
    /// Opens `folder`, makes it if needed, and tidies up what a crash left. Only
    /// one process may do so; the run folder's lock sees to that.
    ///
    /// # Errors
    /// When the folder cannot be made, listed or tidied.
    pub fn open(
        folder: impl Into<PathBuf>,
        retention: Retention,
    ) -> Result<(Self, Swept), CheckpointError> {
        let folder = folder.into();
        fs::create_dir_all(&folder).map_err(FileError::when("make", &folder))?;
        let swept = sweep::sweep(&folder)?;
        let store = Self {
            folder,
            retention,
            resumed: None,
            superseded: vec![],
        };
        store.point_last()?;
        Ok((store, swept))
    }

    /// Returns the folder of the checkpoints.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the steps that have a checkpoint.
    ///
    /// # Errors
    /// When the folder cannot be listed.
    pub fn steps(&self) -> Result<BTreeSet<Step>, CheckpointError> {
        sweep::steps(&self.folder)
    }

    /// Opens the newest checkpoint, if there is one.
    ///
    /// # Errors
    /// When its manifest cannot be read.
    pub fn latest(&self) -> Result<Option<Checkpoint>, CheckpointError> {
        Checkpoint::newest(&self.folder)
    }

    /// Opens the best checkpoint, if one is marked, and says why it is the best.
    ///
    /// # Errors
    /// When the pointer or the manifest cannot be read, or the checkpoint is
    /// gone.
    pub fn best(&self) -> Result<Option<(Checkpoint, Best)>, CheckpointError> {
        let pointer = best_path(&self.folder);
        let Some(BestPointer { step, best }) = pointer::read(&pointer)? else {
            return Ok(None);
        };
        let folder = folder_of(&self.folder, step);
        if !folder.exists() {
            return Err(CheckpointError::BestIsGone { pointer, step });
        }
        Ok(Some((Checkpoint::open(folder)?, best)))
    }

    /// Opens the checkpoint of `step`.
    ///
    /// # Errors
    /// When there is none, or its manifest cannot be read.
    pub fn at(&self, step: Step) -> Result<Checkpoint, CheckpointError> {
        let folder = folder_of(&self.folder, step);
        if folder.exists() {
            return Checkpoint::open(folder);
        }
        let known: Vec<_> = self.steps()?.iter().map(Step::to_string).collect();
        let known = if known.is_empty() {
            "none".into()
        } else {
            known.join(", ")
        };
        Err(CheckpointError::NoSuchStep {
            step,
            folder: self.folder.clone(),
            known,
        })
    }

    /// Declares that the run continues from `step`. That checkpoint is kept from
    /// now on; those after it, which this run is about to make again, are deleted
    /// once its first new checkpoint is written. Until then nothing is deleted,
    /// so a mistyped step costs nothing. Returns the steps that will be deleted.
    ///
    /// # Errors
    /// When there is no such checkpoint, or the folder cannot be listed.
    pub fn resume_from(&mut self, step: Step) -> Result<Vec<Step>, CheckpointError> {
        self.at(step)?;
        self.resumed = Some(step);
        let steps = self.steps()?.into_iter();
        self.superseded = steps.filter(|other| *other > step).collect();
        Ok(self.superseded.clone())
    }

    /// Writes a checkpoint, moves the pointers and applies the retention.
    ///
    /// # Errors
    /// When anything could not be written; the earlier checkpoints are intact.
    pub(crate) fn save(&mut self, snapshot: Snapshot<'_>) -> Result<Saved, CheckpointError> {
        let started = Instant::now();
        let step = snapshot.step;
        let (bytes, best) = write::write(&self.folder, snapshot)?;
        if let Some(best) = best {
            pointer::write(&best_path(&self.folder), &BestPointer { step, best })?;
        }
        let superseded = self.drop_superseded(step)?;
        self.point_last()?;
        let deleted = self.retain(step)?;
        let folder = folder_of(&self.folder, step);
        Ok(Saved {
            step,
            folder,
            bytes,
            took: started.elapsed(),
            deleted,
            superseded,
        })
    }

    /// Deletes the superseded checkpoints, now that `saved` is written.
    fn drop_superseded(&mut self, saved: Step) -> Result<Vec<Step>, CheckpointError> {
        let pointer = best_path(&self.folder);
        let best: Option<BestPointer> = pointer::read(&pointer)?;
        let is_old = |step: &Step| *step != saved && self.superseded.contains(step);
        if best.is_some_and(|best| is_old(&best.step)) {
            fs::remove_file(&pointer).map_err(FileError::when("remove", &pointer))?;
        }
        let mut deleted = vec![];
        // Newest first, so that a crash midway leaves an unbroken past.
        while let Some(step) = self.superseded.last().copied() {
            // Somebody may have deleted the checkpoint by hand in the meantime.
            if step != saved && folder_of(&self.folder, step).exists() {
                write::delete(&self.folder, step)?;
                deleted.insert(0, step);
            }
            self.superseded.pop();
        }
        Ok(deleted)
    }

    fn retain(&self, newest: Step) -> Result<Vec<Step>, CheckpointError> {
        let best: Option<BestPointer> = pointer::read(&best_path(&self.folder))?;
        let protected = [Some(newest), self.resumed, best.map(|best| best.step)];
        let doomed = self
            .retention
            .doomed(&self.steps()?, &protected.into_iter().flatten().collect());
        for step in &doomed {
            write::delete(&self.folder, *step)?;
        }
        Ok(doomed)
    }

    fn point_last(&self) -> Result<(), CheckpointError> {
        let path = last_path(&self.folder);
        match self.steps()?.last() {
            Some(step) => pointer::write(&path, &LastPointer { step: *step }),
            None => match fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    Err(FileError::when("remove", path)(error).into())
                }
                _ => Ok(()),
            },
        }
    }
}

/// Returns the folder of the checkpoint of `step`. Nine digits make names sort as
/// steps do.
pub(super) fn folder_of(folder: &Path, step: Step) -> PathBuf {
    folder.join(format!("step_{:09}", step.0))
}

pub(super) fn step_of(name: &str) -> Option<Step> {
    name.strip_prefix("step_")?.parse().ok().map(Step)
}
