//! Why a batch could not be filled.
//!
//! The manifest has checked every clip, so each of these means that something
//! changed since; the messages say which clip and what to do.

use std::path::PathBuf;

use myxtts_audio::LoadError;
use myxtts_base::report;
use myxtts_text::EncodeError;

use crate::schedule::ClipIndex;
use crate::units::{Codes, Tokens};

/// A batch that could not be filled.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HostStageError {
    /// The schedule was made for another dataset.
    #[error(
        "{}",
        report!(
            "the schedule asks for clip {}, which the dataset does not have", clip.0;
            why: "the manifest changed after the schedule was made";
            fix: "prepare the dataset again"
        )
    )]
    NoSuchClip {
        /// The clip that was asked for.
        clip: ClipIndex,
    },
    /// The recording could not be loaded; the reason names the file.
    #[error("clip {} cannot be loaded: {source}", clip.0)]
    Load {
        /// The clip's place in the manifest.
        clip: ClipIndex,
        /// Why it could not be loaded.
        source: LoadError,
    },
    /// A recording that is read outside the batches could not be loaded; the reason
    /// names the file.
    #[error("{source}")]
    Gone {
        /// Why it could not be loaded.
        source: LoadError,
    },
    /// More recordings are gone than the configuration allows.
    #[error(
        "{}",
        report!(
            "{lost} of {total} clips can no longer be read, but data.max_bad_fraction allows only \
             {allowed:.2} %";
            found: "the last of them: {last}";
            fix: "put the recordings back, which quarantine.jsonl of the run names, or train without \
                  them: --set data.max_bad_fraction={enough}"
        )
    )]
    TooManyLost {
        /// The number of clips that are lost.
        lost: usize,
        /// The number of clips in all.
        total: usize,
        /// The percentage of clips that may be lost.
        allowed: f64,
        /// The fraction that would allow it.
        enough: f64,
        /// What was wrong with the last one.
        last: Box<HostStageError>,
    },
    /// Nothing can stand in for a clip that is gone.
    #[error(
        "{}",
        report!(
            "no other clip can take the place of one that can no longer be read";
            at: "{}", audio.display();
            fix: "put the recording back, or prepare the dataset again"
        )
    )]
    NoSubstitute {
        /// The recording that is gone.
        audio: PathBuf,
    },
    /// The transcript has no tokens in this vocabulary.
    #[error("the transcript of clip {} ({}) cannot be tokenised: {source}", clip.0, audio.display())]
    Encode {
        /// The clip's place in the manifest.
        clip: ClipIndex,
        /// The path of its recording.
        audio: PathBuf,
        /// Why it could not be tokenised.
        source: EncodeError,
    },
    /// The recording is longer than the manifest said.
    #[error(
        "{}",
        report!(
            "clip {} has {} codes, but its bucket has room for {}", clip.0, length.0, room.0;
            at: "{}", audio.display();
            why: "the recording changed after the dataset was indexed";
            fix: "prepare the dataset again"
        )
    )]
    AudioTooLong {
        /// The clip's place in the manifest.
        clip: ClipIndex,
        /// The path of its recording.
        audio: PathBuf,
        /// The length of the recording.
        length: Codes,
        /// The length that its bucket holds.
        room: Codes,
    },
    /// The transcript is longer than the manifest said.
    #[error(
        "{}",
        report!(
            "clip {} has {} text tokens, but its bucket has room for {}", clip.0, length.0, room.0;
            at: "transcript of {}", audio.display();
            why: "the transcript or the vocabulary changed after the dataset was indexed";
            fix: "prepare the dataset again"
        )
    )]
    TextTooLong {
        /// The clip's place in the manifest.
        clip: ClipIndex,
        /// The path of its recording.
        audio: PathBuf,
        /// The length of the transcript.
        length: Tokens,
        /// The length that its bucket holds.
        room: Tokens,
    },
}
