//! What can go wrong with a checkpoint, and what to do about it.

use std::path::{Path, PathBuf};

use myxtts_base::report;

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
    #[error(
        "{}",
        report!(
            "no checkpoint of step {step} in {}", folder.display();
            found: "{known}";
            fix: "name a step that has one with --resume STEP"
        )
    )]
    NoSuchStep {
        /// The step that was asked for.
        step: Step,
        /// The folder of checkpoints.
        folder: PathBuf,
        /// The steps that have a checkpoint, as text.
        known: String,
    },
    /// `best.json` names a checkpoint that is gone.
    #[error(
        "{}",
        report!(
            "{} names step {step}, but there is no such checkpoint", pointer.display();
            fix: "delete that file, or resume another step with --resume STEP"
        )
    )]
    BestIsGone {
        /// The path of `best.json`.
        pointer: PathBuf,
        /// The step it names.
        step: Step,
    },
    /// A JSON file that is not what it should be.
    #[error("{} cannot be read: {reason}", .path.display())]
    Malformed {
        /// The file that cannot be read.
        path: PathBuf,
        /// What the parser said.
        reason: String,
    },
    /// A pointer file that is not what it should be.
    #[error(
        "{}",
        report!(
            "{} cannot be read: {reason}", path.display();
            fix: "delete it; the checkpoints themselves are untouched"
        )
    )]
    Pointer {
        /// The path of `last.json` or `best.json`.
        path: PathBuf,
        /// What the parser said.
        reason: String,
    },
    /// The checkpoint was written by a newer program.
    #[error(
        "{}",
        report!(
            "{} has schema {found}, but this program reads up to {known}", path.display();
            fix: "resume with the version of myxtts that wrote it, or a newer one"
        )
    )]
    NewerSchema {
        /// The path of the manifest.
        path: PathBuf,
        /// The schema it was written with.
        found: u64,
        /// The newest schema that this program reads.
        known: u32,
    },
    /// A file named by the manifest is not there.
    #[error("{} is missing", .path.display())]
    Missing {
        /// The file that is missing.
        path: PathBuf,
    },
    /// A file is shorter or longer than the manifest says.
    #[error("{} is {}: {found} instead of {expected}",
        .path.display(), if .found < .expected { "truncated" } else { "too long" })]
    Size {
        /// The file of the wrong size.
        path: PathBuf,
        /// The size it has now.
        found: Bytes,
        /// The size it had when written.
        expected: Bytes,
    },
    /// A file has the right size but other bytes.
    #[error("{} has changed since it was written: hash {found} instead of {expected}",
        .path.display())]
    Changed {
        /// The file that has changed.
        path: PathBuf,
        /// The hash it has now.
        found: String,
        /// The hash it had when written.
        expected: String,
    },
    /// A checkpoint is damaged; this names the others that are not.
    #[error(
        "{}",
        report!(
            "{what}";
            found: "{}", whole_steps(whole);
            fix: "{}", fix(whole, folder)
        )
    )]
    Damaged {
        /// What is wrong with the checkpoint.
        what: Box<CheckpointError>,
        /// The folder of checkpoints.
        folder: PathBuf,
        /// Steps whose checkpoints have every file as it was written.
        whole: Vec<Step>,
    },
    /// A name that is not a plain relative path.
    #[error(
        "{}",
        report!(
            "`{name}` cannot be a file of a checkpoint: {reason}";
            fix: "use plain names with `/` between folders"
        )
    )]
    Name {
        /// The name that was refused.
        name: String,
        /// What is wrong with the name.
        reason: &'static str,
    },
    /// The caller's closure could not make the snapshot.
    #[error("the state of the run could not be collected for a checkpoint: {reason}")]
    Snapshot {
        /// What the closure reported.
        reason: String,
    },
    /// The thread that writes checkpoints is gone.
    #[error(
        "{}",
        report!(
            "the thread that writes checkpoints stopped without answering";
            fix: "resume from the last checkpoint on disk, which is intact"
        )
    )]
    WriterGone,
}

/// Names the checkpoints that are whole, for a message.
pub fn whole_steps(whole: &[Step]) -> String {
    match whole {
        [] => "no other checkpoint is intact".to_owned(),
        [step] => format!("the checkpoint of step {step} is intact"),
        steps => {
            let steps: Vec<String> = steps.iter().map(Step::to_string).collect();
            format!("the checkpoints of steps {} are intact", steps.join(", "))
        }
    }
}

fn fix(whole: &[Step], folder: &Path) -> String {
    match whole.last() {
        None => "start a new run under another name with --set training.name=NAME".to_owned(),
        Some(step) => format!(
            "run `myxtts train` with --resume {step} and the rest of its command line unchanged; other \
             commands take the folder {}",
            super::store::folder_of(folder, *step).display()
        ),
    }
}

impl CheckpointError {
    /// Adds to an error about a damaged checkpoint the steps in the folder
    /// `checkpoints` that are whole, and returns other errors unchanged. Every
    /// file of the whole checkpoints is read for that.
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
