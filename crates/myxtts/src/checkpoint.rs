//! Damaged checkpoints, and the others of a run that can stand in for them.
//!
//! Whoever reads weights fails with the first thing that is wrong, which says little: a tensor that
//! is too short, a field that is missing. Only then is the checkpoint compared with its manifest,
//! hash by hash, and so are the others of the run; what works reads nothing twice.

use std::path::Path;

use myxtts_run::checkpoint::Checkpoint;

pub use myxtts_run::checkpoint::{CheckpointError, whole_steps};

use crate::Step;

/// The file that describes weights that can speak; a checkpoint of the DVAE stage has none.
const CARD: &str = "config.json";
/// The file that every checkpoint of a training has.
const MANIFEST: &str = "manifest.json";

/// The damage to a checkpoint.
#[derive(Debug)]
pub struct Damage {
    /// What is wrong with it.
    pub what: CheckpointError,
    /// The other checkpoints of its run that are whole and can speak, the oldest first.
    whole: Vec<Checkpoint>,
}

impl Damage {
    /// Compares a checkpoint with its manifest. `None` if it is whole, or not one of a run:
    /// imported weights have no manifest to compare with.
    pub fn of(checkpoint: &Path) -> Option<Self> {
        let checkpoints = checkpoint.parent()?;
        if !checkpoint.join(MANIFEST).is_file() {
            return None;
        }
        let opened = Checkpoint::open(checkpoint.to_owned());
        let what = opened.and_then(|found| found.verify()).err()?;
        let whole = Checkpoint::whole(checkpoints).unwrap_or_default();
        let speaks = |found: &Checkpoint| found.folder().join(CARD).is_file();
        let whole = whole.into_iter().filter(speaks).collect();
        Some(Self { what, whole })
    }

    /// Returns the folder of the newest checkpoint that is whole.
    pub fn newest_whole(&self) -> Option<&Path> {
        self.whole.last().map(Checkpoint::folder)
    }

    /// Says which checkpoints are whole.
    pub fn others(&self) -> String {
        let steps: Vec<Step> = self.whole.iter().map(Checkpoint::step).collect();
        whole_steps(&steps)
    }
}
