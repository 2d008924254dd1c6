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
