//! What ends a preparation. A bad clip never does.

use std::io;
use std::path::{Path, PathBuf};

use myxtts_audio::WriteError;
use myxtts_base::report;
use myxtts_text::{LanguageError, Script};
use thiserror::Error;

use crate::layout::LayoutError;

/// Why a dataset could not be prepared.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PrepareError {
    /// There is no dataset at the path.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// The language is not a language tag.
    #[error(transparent)]
    Language(#[from] LanguageError),
    /// The letters fit several languages.
    #[error(
        "{}",
        report!(
            "which language are the texts of {} in?", path.display();
            found: "{example}";
            why: "they have {script} letters and do not look like English";
            fix: "--language {fix}"
        )
    )]
    WhichLanguage {
        /// The path of the dataset.
        path: PathBuf,
        /// The script of the letters.
        script: Script,
        /// A text of the dataset.
        example: String,
        /// The likely tag, for the message.
        fix: String,
    },
    /// The language is not written with these letters.
    #[error(
        "{}",
        report!(
            "the texts of {} are not in the language `{language}`", path.display();
            found: "{example}";
            why: "{misfits} of {all} have {script} letters, but `{language}` is not written with \
                  them";
            fix: "--language {fix}"
        )
    )]
    WrongScript {
        /// The path of the dataset.
        path: PathBuf,
        /// The language that was given.
        language: String,
        /// The letters of most texts.
        script: Script,
        /// The number of texts with letters that do not fit.
        misfits: u64,
        /// The number of texts with letters.
        all: u64,
        /// A text of the dataset.
        example: String,
        /// The likely tag, for the message.
        fix: String,
    },
    /// The metadata cannot be read to its end.
    #[error(
        "{}",
        report!(
            "the metadata of {} cannot be read to its end: {why}", path.display();
            fix: "check the disk and the mount, then run the command again"
        )
    )]
    Metadata {
        /// The dataset or the file.
        path: PathBuf,
        /// The error of the operating system.
        why: io::Error,
    },
    /// The results would lie in the dataset's folder, and be read as one.
    #[error(
        "{}",
        report!(
            "the results cannot go into the dataset's own folder {}", path.display();
            why: "its manifest would be read as metadata next time";
            fix: "leave --prepared out, or give a folder below or beside it"
        )
    )]
    SameFolder {
        /// The folder of both.
        path: PathBuf,
    },
    /// A result cannot be written.
    #[error(
        "{}",
        report!(
            "cannot write {}: {why}", path.display();
            fix: "free some disk space, or give a writable folder with --prepared; what was \
                  already written stays valid"
        )
    )]
    Output {
        /// The file or folder that cannot be written.
        path: PathBuf,
        /// The error of the operating system.
        why: io::Error,
    },
    /// A file of ours is not as we wrote it.
    #[error(
        "{}",
        report!(
            "{}:{line} is not in the form that `myxtts prepare` writes: {why}", path.display();
            fix: "run `myxtts prepare` again"
        )
    )]
    Malformed {
        /// The path of the file.
        path: PathBuf,
        /// The line's number, counted from 1.
        line: u64,
        /// What is wrong with it.
        why: String,
    },
    /// A converted recording cannot be written.
    #[error(transparent)]
    Convert(#[from] WriteError),
    /// Somebody asked the run to stop.
    #[error("the preparation was stopped; what was prepared before is unchanged")]
    Stopped,
    /// The counts do not add up, which is a fault of this program.
    #[error(
        "{}",
        report!(
            "{total} clips went in, but {kept} kept and {quarantined} quarantined came out";
            why: "a bug in this program; none of the result can be trusted";
            fix: "please report it, with the dataset's layout"
        )
    )]
    Lost {
        /// The number of rows read.
        total: u64,
        /// The number of lines of the manifest.
        kept: u64,
        /// The number of lines of the quarantine.
        quarantined: u64,
    },
}

impl PrepareError {
    /// Makes the error of a result at `path` that cannot be written, for `map_err`.
    pub(super) fn output(path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |why| Self::Output { path, why }
    }
}
