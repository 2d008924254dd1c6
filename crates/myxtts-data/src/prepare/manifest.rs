//! The manifest: one accepted clip a line, for people and for training.

use std::path::{Path, PathBuf};

use myxtts_audio::units::{SampleRate, Samples};
use serde::{Deserialize, Serialize};

use super::{CODE, MANIFEST, Note, PrepareError, jsonl};
use crate::layout::Split;
use crate::schedule::ClipLength;
use crate::units::{Codes, Tokens};

/// A clip that may be trained on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Clip {
    /// Unique in the manifest: the recording's path without its ending.
    pub id: String,
    /// The recording, relative to the manifest's folder where that can be.
    pub audio: String,
    /// What is said, as the dataset writes it. It is cleaned when it is used:
    /// cleaning costs microseconds, and its rules may improve.
    pub text: String,
    /// Who says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speaker: Option<String>,
    /// In which language.
    pub language: String,
    /// How long it lasts, trimmed, to a millisecond.
    pub seconds: f64,
    /// The same in samples at the model's rate.
    pub samples: Samples,
    /// Length of the cleaned text with its language tag.
    pub tokens: Tokens,
    /// Rate of the recording as it came.
    pub rate: SampleRate,
    /// Channels of the recording as it came.
    pub channels: u16,
    /// BLAKE3 of the file at `audio`; the cache goes by it.
    pub content: String,
    /// Train or validation.
    pub split: Split,
    /// Where the dataset names it, `file:line`.
    pub source: String,
    /// The recording that `audio` was converted from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub converted_from: Option<String>,
    /// What is odd about it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
}

impl Clip {
    /// Its length as the schedule counts.
    pub fn length(&self) -> ClipLength {
        ClipLength {
            text: self.tokens,
            audio: codes(self.samples),
        }
    }

    /// The content hash as bytes; `None` if a person has edited it away.
    pub fn content_hash(&self) -> Option<[u8; 32]> {
        Some(*blake3::Hash::from_hex(&self.content).ok()?.as_bytes())
    }
}

/// Audio codes of a clip.
pub(super) fn codes(samples: Samples) -> Codes {
    Codes(u32::try_from(samples.0.div_ceil(CODE)).unwrap_or(u32::MAX))
}

/// A manifest on disk, streamed.
#[derive(Debug)]
pub struct Manifest {
    folder: PathBuf,
    lines: jsonl::Reader<Clip>,
}

impl Manifest {
    /// The manifest in an output folder.
    pub fn open(folder: &Path) -> Result<Self, PrepareError> {
        Ok(Self {
            folder: folder.to_owned(),
            lines: jsonl::Reader::open(&folder.join(MANIFEST))?,
        })
    }

    /// Where a clip's recording is.
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
