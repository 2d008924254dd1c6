//! The recordings and the disk they lie on.

use serde::{Deserialize, Serialize};

use crate::signal::Signal;
use crate::units::{MegabytesPerSecond, Share};

/// How fast the dataset's own files are read, from a probe.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StorageSignals {
    /// The rate of files that were not in the page cache.
    pub cold: Signal<MegabytesPerSecond>,
    /// The rate of the same files, read once more.
    pub warm: Signal<MegabytesPerSecond>,
    /// What the schedule needs to keep the model busy: bytes of a step's
    /// recordings over the model's own time of a step.
    pub needed: Signal<MegabytesPerSecond>,
}

/// What is known of the recordings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DatasetSignals {
    /// The number of rows of the dataset.
    pub clips: Signal<u64>,
    /// Padding by number of length buckets; `padding` of `prepare`'s report.
    pub buckets: Signal<Vec<BucketChoice>>,
    /// Clips left out or worth a look, by reason; `quarantine.jsonl`, and the
    /// report of `prepare`.
    pub quality: Signal<Vec<Quality>>,
}

/// The clips that have one fault.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Quality {
    /// The fault, as `prepare` names it.
    pub reason: String,
    /// The number of such clips.
    pub clips: u64,
    /// Whether they were left out.
    pub left_out: bool,
    /// Some of the clips, as the report names them.
    pub examples: Vec<String>,
}

/// What a number of length buckets would pad.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BucketChoice {
    /// The number of buckets.
    pub buckets: u32,
    /// The share of positions that would be padding.
    pub padding: Share,
    /// The edges of the buckets, longest text and longest audio in codes; empty where
    /// they were not computed.
    pub edges: Vec<(u32, u32)>,
}
