//! Why a batch could not be filled.
//!
//! The manifest has checked every clip, so each of these means that something
//! changed since; the messages say which clip and what to do.

use std::path::PathBuf;

use myxtts_audio::LoadError;
use myxtts_text::EncodeError;

use crate::schedule::ClipIndex;
use crate::units::{Codes, Tokens};

/// A batch that could not be filled.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StageError {
    /// The schedule is of another dataset.
    #[error(
        "the schedule asks for clip {}, which the dataset does not have\n  \
         hint: the manifest changed after the schedule was made; prepare the dataset again",
        clip.0
    )]
    NoSuchClip {
        /// Which.
        clip: ClipIndex,
    },
    /// The recording could not be loaded; the reason names the file.
    #[error("clip {} cannot be loaded: {source}", clip.0)]
    Load {
        /// Which.
        clip: ClipIndex,
        /// Why.
        source: LoadError,
    },
    /// A recording that is read besides the batches; the reason names the file.
    #[error("{source}")]
    Gone {
        /// Why.
        source: LoadError,
    },
    /// More recordings are gone than may be.
    #[error(
        "{lost} of {total} clips cannot be read any more, and data.max_bad_fraction allows {allowed:.2} %\n  \
         last:  {last}\n  \
         fix:   put the recordings back, or train without them: --set data.max_bad_fraction={enough}; \
         quarantine.jsonl of the run names them"
    )]
    TooManyLost {
        /// How many.
        lost: usize,
        /// Of how many.
        total: usize,
        /// Percent that may be.
        allowed: f64,
        /// The fraction that would do.
        enough: f64,
        /// The one that was too many.
        last: Box<StageError>,
    },
    /// Nothing can stand in for a clip that is gone.
    #[error(
        "no other clip fits in the place of one that cannot be read any more\n  --> {}\n  \
         fix:   put the recording back, or prepare the dataset again",
        audio.display()
    )]
    NoSubstitute {
        /// The one that is gone.
        audio: PathBuf,
    },
    /// The transcript has no tokens in this vocabulary.
    #[error("the transcript of clip {} ({}) cannot be tokenised: {source}", clip.0, audio.display())]
    Encode {
        /// Which.
        clip: ClipIndex,
        /// Its recording.
        audio: PathBuf,
        /// Why.
        source: EncodeError,
    },
    /// The recording is longer than the manifest said.
    #[error(
        "clip {} has {} codes, and its bucket has room for {}\n  --> {}\n  \
         hint: the recording changed after the dataset was indexed; prepare the dataset again",
        clip.0, length.0, room.0, audio.display()
    )]
    AudioTooLong {
        /// Which.
        clip: ClipIndex,
        /// Its recording.
        audio: PathBuf,
        /// What it has.
        length: Codes,
        /// What fits.
        room: Codes,
    },
    /// The transcript is longer than the manifest said.
    #[error(
        "clip {} has {} text tokens, and its bucket has room for {}\n  --> transcript of {}\n  \
         hint: the transcript or the vocabulary changed after the dataset was indexed; prepare \
         the dataset again",
        clip.0, length.0, room.0, audio.display()
    )]
    TextTooLong {
        /// Which.
        clip: ClipIndex,
        /// Its recording.
        audio: PathBuf,
        /// What it has.
        length: Tokens,
        /// What fits.
        room: Tokens,
    },
}
