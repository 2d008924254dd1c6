//! The stages that feed the step: `ledger.jsonl`, one line a batch and stage.

use serde::{Deserialize, Serialize};

use crate::signal::Signal;
use crate::units::{Seconds, Share};

/// The stages, and the known parts of their work. All seconds are per
/// optimiser step and those of all threads of the stage together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PipelineSignals {
    /// Decode, resample, tokenize, fill a shape: worker threads.
    pub host: Signal<StageSignals>,
    /// Reading files, part of the host stage; `read_us`.
    pub read: Signal<Seconds>,
    /// Decoding them, part of the host stage; `decode_us`.
    pub decode: Signal<Seconds>,
    /// Upload, mel, codes: the data device.
    pub device: Signal<StageSignals>,
    /// Upload, part of the device stage; `upload_us`.
    pub upload: Signal<Seconds>,
    /// From the data device to the model devices.
    pub hop: Signal<StageSignals>,
    /// Share of batches that were there when the model asked.
    pub ready: Signal<Share>,
}

/// One stage.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct StageSignals {
    /// Threads that did something.
    pub threads: u32,
    /// Work per optimiser step, all threads together.
    pub busy: Seconds,
    /// Waiting for input per optimiser step, all threads together.
    pub wait_in: Seconds,
    /// Waiting for room per optimiser step, all threads together.
    pub wait_out: Seconds,
}

impl StageSignals {
    /// The fastest that this stage could follow itself: a step's work over its threads.
    pub fn pace(&self) -> Seconds {
        Seconds(self.busy.0 / f64::from(self.threads.max(1)))
    }
}
