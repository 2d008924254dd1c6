//! The stages that feed the step: `ledger.jsonl`, one line per batch and stage.

use serde::{Deserialize, Serialize};

use crate::signal::Signal;
use crate::units::{Seconds, Share};

/// The stages, and the known parts of their work. All seconds are per optimizer
/// step and summed over all threads of the stage.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PipelineSignals {
    /// The worker threads: decode, resample, tokenize, fill a shape.
    pub host: Signal<StageSignals>,
    /// Reading files, part of the host stage; `read_us`.
    pub read: Signal<Seconds>,
    /// Decoding files, part of the host stage; `decode_us`.
    pub decode: Signal<Seconds>,
    /// The data device: upload, mel, codes.
    pub device: Signal<StageSignals>,
    /// Upload, part of the device stage; `upload_us`.
    pub upload: Signal<Seconds>,
    /// The hop from the data device to the model devices.
    pub hop: Signal<StageSignals>,
    /// The share of batches that were ready when the model asked.
    pub ready: Signal<Share>,
}

/// The times of one stage.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct StageSignals {
    /// The number of threads that did something.
    pub threads: u32,
    /// Work per optimizer step, all threads together.
    pub busy: Seconds,
    /// Waiting for input per optimizer step, all threads together.
    pub wait_in: Seconds,
    /// Waiting for room per optimizer step, all threads together.
    pub wait_out: Seconds,
}

impl StageSignals {
    /// Returns the pace of the stage: a step's work over its threads.
    pub(crate) fn pace(&self) -> Seconds {
        Seconds(self.busy.0 / f64::from(self.threads.max(1)))
    }
}
