//! What can go wrong with a checkpoint, and what to do.

use std::path::{Path, PathBuf};

use super::Checkpoint;
use crate::FileError;
use crate::units::{Bytes, Step};

/// A checkpoint that could not be written or must not be trusted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// The file system refused.
    #[error(transparent)]
    Io(#[from] FileError),
    /// There is no such checkpoint.
    #[error("no checkpoint of step {step} in {}; there are {known}", .folder.display())]
    NoSuchStep {
        /// What was asked for.
        step: Step,
        /// Where.
        folder: PathBuf,
        /// What there is.
        known: String,
    },
    /// `best.json` names a checkpoint that is gone.
    #[error(
        "{} names step {step}, and there is no such checkpoint; \
         delete that file, or resume another step with --resume STEP", .pointer.display()
    )]
    BestIsGone {
        /// The pointer.
        pointer: PathBuf,
        /// What it names.
        step: Step,
    },
    /// A JSON file that is not what it should be.
    #[error("{} cannot be read: {reason}", .path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What the parser said.
        reason: String,
    },
    /// A pointer that is not what it should be.
    #[error(
        "{} cannot be read: {reason}; delete it, the checkpoints themselves are untouched",
        .path.display()
    )]
    Pointer {
        /// The file.
        path: PathBuf,
        /// What the parser said.
        reason: String,
    },
    /// Written by a newer program.
    #[error(
        "{} has schema {found}, and this program reads up to {known}; \
         resume with the version of myxtts that wrote it, or a newer one", .path.display()
    )]
    NewerSchema {
        /// The manifest.
        path: PathBuf,
        /// Its schema.
        found: u64,
        /// Ours.
        known: u32,
    },
    /// A file named by the manifest is not there.
    #[error("{} is missing", .path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// A file is shorter or longer than the manifest says.
    #[error("{} is {}: {found} in place of {expected}",
        .path.display(), if .found < .expected { "truncated" } else { "too long" })]
    Size {
        /// The file.
        path: PathBuf,
        /// Size now.
        found: Bytes,
        /// Size when written.
        expected: Bytes,
    },
    /// A file has the right size and other bytes.
    #[error("{} has changed since it was written: hash {found} in place of {expected}",
        .path.display())]
    Changed {
        /// The file.
        path: PathBuf,
        /// Hash now.
        found: String,
        /// Hash when written.
        expected: String,
    },
    /// A checkpoint is damaged; this says which others are not.
    #[error("{what}\n  whole: {}\n  fix:   {}", whole_steps(.whole), fix(.whole, .folder))]
    Damaged {
        /// What is wrong with it.
        what: Box<CheckpointError>,
        /// Where the checkpoints are.
        folder: PathBuf,
        /// Steps whose checkpoints have every file as it was written.
        whole: Vec<Step>,
    },
    /// A file name that is not a plain relative one.
    #[error(
        "`{name}` cannot be a file of a checkpoint: {reason}; \
         use plain names with `/` between folders"
    )]
    Name {
        /// The name.
        name: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The caller's closure could not make the snapshot.
    #[error("the state of the run could not be collected for a checkpoint: {reason}")]
    Snapshot {
        /// What it said.
        reason: String,
    },
    /// The thread that writes is gone.
    #[error(
        "the thread that writes checkpoints stopped without an answer; the last checkpoint on disk is whole"
    )]
    WriterGone,
}

/// Steps whose checkpoints are whole, in words.
pub fn whole_steps(whole: &[Step]) -> String {
    match whole {
        [] => "no other checkpoint".to_owned(),
        [step] => format!("the checkpoint of step {step}"),
        steps => {
            let steps: Vec<String> = steps.iter().map(Step::to_string).collect();
            format!("the checkpoints of steps {}", steps.join(", "))
        }
    }
}

fn fix(whole: &[Step], folder: &Path) -> String {
    match whole.last() {
        None => "start a new run under another name with --set training.name=NAME".to_owned(),
        Some(step) => format!(
            "give `myxtts train` --resume {step} and the rest of its command line as it was; other \
             commands take the folder {}",
            super::store::folder_of(folder, *step).display()
        ),
    }
}

impl CheckpointError {
    /// The same error; where it tells of a damaged checkpoint in the folder
    /// `checkpoints`, with the steps there that are whole. Every file of theirs
    /// is read for that.
    #[must_use]
    pub fn beside_whole(self, checkpoints: &Path) -> Self {
        let is_damage = matches!(
            self,
            Self::Missing { .. }
                | Self::Size { .. }
                | Self::Changed { .. }
                | Self::Malformed { .. }
        );
        if !is_damage {
            return self;
        }
        let Ok(whole) = Checkpoint::whole(checkpoints) else {
            return self;
        };
        Self::Damaged {
            what: Box::new(self),
            folder: checkpoints.to_owned(),
            whole: whole.iter().map(Checkpoint::step).collect(),
        }
    }
}
