//! A line of `ledger.jsonl`: one batch in one stage of the pipeline.

use serde::Deserialize;

/// What the stall ledger notes of a batch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub(crate) struct BatchLine {
    pub(crate) stage: String,
    #[serde(default)]
    pub(crate) worker: u64,
    /// Microseconds since the pipeline started, which it does anew in every stage
    /// of a training.
    #[serde(default)]
    pub(crate) at_us: u64,
    pub(crate) wait_in_us: u64,
    pub(crate) busy_us: u64,
    pub(crate) wait_out_us: u64,
    #[serde(default)]
    pub(crate) occupancy: u64,
    /// Parts of `busy_us`, where the stage tells them apart.
    #[serde(default)]
    pub(crate) read_us: Option<u64>,
    #[serde(default)]
    pub(crate) decode_us: Option<u64>,
    #[serde(default)]
    pub(crate) upload_us: Option<u64>,
}

impl BatchLine {
    /// Parses a line; `None` where it is not an entry.
    pub(crate) fn parse(line: &str) -> Option<Self> {
        serde_json::from_str(line).ok()
    }
}
