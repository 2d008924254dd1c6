//! The quarantine: one rejected clip a line, with its reason.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{PrepareError, QUARANTINE, jsonl};

/// A clip that is not trained on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Quarantined {
    /// A stable word, for programs.
    pub reason: String,
    /// A sentence, for people.
    pub why: String,
    /// Where the dataset names it, `file:line`.
    pub source: String,
    /// The recording; none where the line itself cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audio: Option<String>,
    /// What is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// The quarantine on disk, streamed.
#[derive(Debug)]
pub struct Quarantine(jsonl::Reader<Quarantined>);

impl Quarantine {
    /// The quarantine in an output folder.
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
