//! The quarantine: one rejected clip a line, with its reason.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{PrepareError, QUARANTINE, jsonl};

/// A clip that is not trained on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Quarantined {
    /// The reason as a stable word, for programs.
    pub reason: String,
    /// The reason as a sentence, for people.
    pub why: String,
    /// The line that names the clip, as `file:line`.
    pub source: String,
    /// The recording; `None` where the line itself cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audio: Option<String>,
    /// The text that is spoken; `None` where the line itself cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// The quarantine on disk, streamed.
#[derive(Debug)]
pub struct Quarantine(jsonl::Reader<Quarantined>);

impl Quarantine {
    /// Opens the quarantine in an output folder.
    pub fn open(folder: &Path) -> Result<Self, PrepareError> {
        Ok(Self(jsonl::Reader::open(&folder.join(QUARANTINE))?))
    }
}

impl Iterator for Quarantine {
    type Item = Result<Quarantined, PrepareError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next()
    }
}
