//! Why nothing was measured.

use std::io;
use std::path::PathBuf;

use myxtts_audio::{DecodeError, LoadError, MelError, WriteError};
use myxtts_base::report;
use myxtts_text::{EncodeError, LanguageError, VocabError};

use crate::host_stage::HostStageError;
use crate::layout::LayoutError;
use crate::schedule::ClipIndex;

/// Why nothing was measured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BenchError {
    /// The generated corpus could not be written.
    #[error(transparent)]
    Write(WriteError),
    /// The folder is not a dataset.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// The dataset could not be read.
    #[error(
        "{}",
        report!(
            "cannot read the dataset {}: {source}", folder.display();
            fix: "check the disk, the mount and that this user may read the folder"
        )
    )]
    Read {
        /// The folder of the dataset.
        folder: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A line of the dataset names no clip.
    #[error(
        "{}",
        report!(
            "{why}";
            at: "{}:{line}", file.display();
            fix: "measure on a dataset without bad lines"
        )
    )]
    BadLine {
        /// The path of the file.
        file: PathBuf,
        /// The line's number, counted from 1.
        line: u64,
        /// What is wrong with it.
        why: String,
    },
    /// The dataset has no clips.
    #[error(
        "{}",
        report!(
            "the dataset has no clips";
            at: "{}", folder.display();
            fix: "name a dataset with at least one recording and its text"
        )
    )]
    Empty {
        /// The folder of the dataset.
        folder: PathBuf,
    },
    /// A language tag of the dataset is not valid.
    #[error(transparent)]
    Language(#[from] LanguageError),
    /// A recording could not be decoded.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// A recording could not be loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A recording is too short for a mel.
    #[error(transparent)]
    Mel(#[from] MelError),
    /// No vocabulary could be made from the transcripts.
    #[error(transparent)]
    Vocabulary(#[from] VocabError),
    /// A transcript could not be tokenised.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// A batch could not be filled.
    #[error(transparent)]
    Stage(#[from] HostStageError),
    /// A clip fits no bucket, although buckets are chosen to hold every clip.
    #[error(
        "{}",
        report!(
            "clip {} of the dataset fits no bucket", clip.0;
            why: "a bug in this program: buckets are chosen to hold every clip";
            fix: "please report it, with the dataset's layout"
        )
    )]
    Unscheduled {
        /// The clip that fits no bucket.
        clip: ClipIndex,
    },
}
