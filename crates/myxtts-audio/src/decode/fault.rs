//! What can be wrong with a file, and what to do about it.
//!
//! A [`Fault`] is what is wrong with some bytes; a [`DecodeError`] adds which
//! file they are from. The text of every variant is a reviewed snapshot
//! (`tests/it/malformed.rs`).

use std::io;
use std::path::PathBuf;

use myxtts_base::report;

use crate::units::{Samples, Seconds};

/// A file that could not be decoded.
#[derive(Debug, thiserror::Error)]
#[error(
    "{}",
    report!(
        "{fault}";
        at: "{}", path.display();
        fix: "{}", fault.fix()
    )
)]
pub struct DecodeError {
    /// The path of the file, as the caller gave it.
    pub path: PathBuf,
    /// What is wrong with it.
    pub fault: Fault,
}

/// What is wrong with a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// Nothing is at this path.
    #[error("there is no such file")]
    NotFound,
    /// The file may not be read by this user.
    #[error("this user does not have permission to read the file")]
    Permission,
    /// The path names a directory.
    #[error("this is a directory, not a recording")]
    Directory,
    /// The path names a pipe, a socket or a device.
    #[error("this is not a regular file")]
    NotAFile,
    /// The operating system refused in another way.
    #[error("the file cannot be read: {0}")]
    Io(io::Error),
    /// The file has no bytes.
    #[error("the file is empty (0 bytes)")]
    Empty,
    /// The bytes are not of any audio format that is read.
    #[error("this is not audio: {found}")]
    NotAudio {
        /// What the file looks like instead.
        found: String,
    },
    /// The file ends before its audio does.
    #[error("the recording is cut short: {decoded} could be read{}", missing(*decoded, *declared))]
    Truncated {
        /// The number of samples per channel that are there.
        decoded: Samples,
        /// The number of samples per channel that the header promised, if it did.
        declared: Option<Samples>,
    },
    /// The header contradicts itself or the file.
    #[error("the header is wrong: {what}")]
    LyingHeader {
        /// The contradiction, in words.
        what: String,
    },
    /// The compressed data does not decode.
    #[error("the audio data is damaged after {decoded}: {why}")]
    Corrupt {
        /// The number of samples per channel decoded before the damage.
        decoded: Samples,
        /// The reason the decoder gave.
        why: String,
    },
    /// A sample is not a number.
    #[error("sample {} is {value}, but every sample must be a finite number", at.0)]
    NotFinite {
        /// The position of the first such sample.
        at: Samples,
        /// The value of that sample, NaN or an infinity.
        value: f32,
    },
    /// The audio is in an encoding that this program does not decode.
    #[error("the encoding is not supported: {what}")]
    Unsupported {
        /// The encoding that was found.
        what: String,
    },
    /// The recording is longer than [`Limits`](super::Limits) allow.
    #[error("the recording lasts {length}, longer than the limit of {limit}")]
    TooLong {
        /// The length by the header, or as reached while decoding.
        length: Seconds,
        /// The longest recording allowed.
        limit: Seconds,
    },
    /// A correct header without any samples behind it.
    #[error("the recording has no samples")]
    NoSamples,
}

fn missing(decoded: Samples, declared: Option<Samples>) -> String {
    match declared {
        Some(declared) => format!(
            " of {} declared, {} missing",
            declared.0,
            declared.0.saturating_sub(decoded.0)
        ),
        None => ", and the end is missing".to_owned(),
    }
}

impl Fault {
    /// Returns what a person can do about it.
    fn fix(&self) -> &'static str {
        match self {
            Self::NotFound => "check the path in the metadata, and what it is relative to",
            Self::Permission => "give this user read access: chmod u+r, or run as the file's owner",
            Self::Directory => "name the recording inside the directory",
            Self::NotAFile => "copy the audio into a regular file",
            Self::Io(_) => "check the disk, the mount and any symbolic links on the path",
            Self::Empty => "copy or download the file again; it was probably never written",
            Self::NotAudio { .. } => {
                "remove or replace this file; WAV, FLAC, MP3, OGG/Vorbis and M4A/AAC are read"
            }
            Self::Truncated { .. } => "copy or download the file again; the end of it is missing",
            Self::LyingHeader { .. } => {
                "rewrite the file with an audio tool, for example: ffmpeg -i IN -c:a pcm_s16le OUT.wav"
            }
            Self::Corrupt { .. } => "copy or download the file again; some bytes have changed",
            Self::NotFinite { .. } => {
                "render the file again; NaN usually comes from the tool that wrote it"
            }
            Self::Unsupported { .. } => {
                "convert it, for example: ffmpeg -i IN -c:a pcm_s16le OUT.wav"
            }
            Self::TooLong { .. } => "split the recording into sentences, or raise the limit",
            Self::NoSamples => "record it again, or remove it from the metadata",
        }
    }

    /// Returns a short, stable word for reports and counters.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::NotFound => "not_found",
            Self::Permission => "permission",
            Self::Directory => "directory",
            Self::NotAFile => "not_a_file",
            Self::Io(_) => "io",
            Self::Empty => "empty",
            Self::NotAudio { .. } => "not_audio",
            Self::Truncated { .. } => "truncated",
            Self::LyingHeader { .. } => "lying_header",
            Self::Corrupt { .. } => "corrupt",
            Self::NotFinite { .. } => "not_finite",
            Self::Unsupported { .. } => "unsupported",
            Self::TooLong { .. } => "too_long",
            Self::NoSamples => "no_samples",
        }
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::NotFound,
            io::ErrorKind::PermissionDenied => Self::Permission,
            io::ErrorKind::IsADirectory => Self::Directory,
            _ => Self::Io(error),
        }
    }
}
