//! The manifest: one accepted clip a line, for people and for training.

use std::path::{Path, PathBuf};

use myxtts_audio::units::{SampleRate, Samples, Span};
use serde::{Deserialize, Serialize};

use super::{MANIFEST, Note, PrepareError, jsonl};
use crate::layout::Split;
use crate::schedule::ClipLength;
use crate::units::{Codes, Tokens};

/// A clip that may be trained on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Clip {
    /// The id, unique in the manifest: the recording's path without its ending, with
    /// `#partN` where the recording was split.
    pub id: String,
    /// The recording, relative to the manifest's folder where that can be.
    pub audio: String,
    /// The part of the recording that is the clip; `None` where all of it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span: Option<Span>,
    /// The text as the dataset writes it. It is cleaned when it is used: cleaning
    /// costs microseconds, and its rules may improve.
    pub text: String,
    /// The speaker, where the dataset names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speaker: Option<String>,
    /// The tag of the language.
    pub language: String,
    /// The length in seconds, trimmed, to a millisecond.
    pub seconds: f64,
    /// The length in samples at the model's rate.
    pub samples: Samples,
    /// The length of the cleaned text with its language tag.
    pub tokens: Tokens,
    /// The sample rate of the recording as it came.
    pub rate: SampleRate,
    /// The number of channels of the recording as it came.
    pub channels: u16,
    /// The BLAKE3 of the file at `audio`, in hex; the cache goes by it.
    pub content: String,
    /// The part of the dataset it belongs to.
    pub split: Split,
    /// The line that names the clip, as `file:line`.
    pub source: String,
    /// The recording that `audio` was converted from, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub converted_from: Option<String>,
    /// What is odd about the clip.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
}

impl Clip {
    /// Returns the clip's length as the schedule counts it.
    pub fn length(&self) -> ClipLength {
        ClipLength {
            text: self.tokens,
            audio: Codes::of(self.samples),
        }
    }

    /// Returns a hash of what the clip holds, or `None` if a person has edited it away:
    /// the recording's, and for a part of one that of the recording and where the part is.
    pub fn content_hash(&self) -> Option<[u8; 32]> {
        let recording = blake3::Hash::from_hex(&self.content).ok()?;
        let Some(Span { first, length }) = self.span else {
            return Some(*recording.as_bytes());
        };
        let mut hasher = blake3::Hasher::new();
        hasher.update(recording.as_bytes());
        for samples in [first, length] {
            hasher.update(&(samples.0 as u64).to_le_bytes());
        }
        Some(*hasher.finalize().as_bytes())
    }
}

/// A manifest on disk, streamed.
#[derive(Debug)]
pub struct Manifest {
    folder: PathBuf,
    lines: jsonl::Reader<Clip>,
}

impl Manifest {
    /// Opens the manifest in an output folder.
    pub fn open(folder: &Path) -> Result<Self, PrepareError> {
        Ok(Self {
            folder: folder.to_owned(),
            lines: jsonl::Reader::open(&folder.join(MANIFEST))?,
        })
    }

    /// Returns the path of a clip's recording.
    pub fn audio(&self, clip: &Clip) -> PathBuf {
        self.folder.join(&clip.audio)
    }
}

impl Iterator for Manifest {
    type Item = Result<Clip, PrepareError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.lines.next()
    }
}
