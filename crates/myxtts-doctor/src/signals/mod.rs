//! What the rules look at.
//!
//! Everything is a mean over the steps of the newest stage after its warm-up,
//! and everything may be `unavailable` with its reason. [`Signals::default`]
//! knows nothing: a writer fills in what it measured. The sources are the
//! files of a run folder, or a probe that runs the same stages; the names in
//! backquotes are fields of `metrics.jsonl`, `ledger.jsonl`, `devices.jsonl`
//! and `plan.json`.

mod dataset;
mod devices;
mod pipeline;
mod settings;
mod steps;

use serde::{Deserialize, Serialize};

pub use dataset::{BucketChoice, DatasetSignals, Quality, StorageSignals};
pub use devices::{
    BackendFound, Clock, DeviceRole, DeviceSignals, Estimate, GpuFound, MachineSignals, Memory,
    PcieLink, Throttled,
};
pub use pipeline::{PipelineSignals, StageSignals};
pub use settings::{CacheKind, Precision, Settings, Strategy, TrainStage};
pub use steps::{
    Headroom, ModeSpeed, Oscillation, Pauses, Period, Recompiles, Replica, StepSignals,
};

/// Everything that the rules need to know of a training.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Signals {
    /// What the edits start from: configuration and plan.
    pub settings: Settings,
    /// The host, and what discovery said.
    pub machine: MachineSignals,
    /// What a train step takes.
    pub steps: StepSignals,
    /// The stages that feed the step.
    pub pipeline: PipelineSignals,
    /// The devices of the plan, in its order.
    pub devices: Vec<DeviceSignals>,
    /// The disk that the recordings lie on.
    pub storage: StorageSignals,
    /// What is known of the recordings.
    pub dataset: DatasetSignals,
}

impl Signals {
    /// Returns the devices that are not the processor.
    pub(crate) fn gpus(&self) -> impl Iterator<Item = &DeviceSignals> {
        self.devices.iter().filter(|device| device.backend != "cpu")
    }

    /// Returns the first device that trains.
    pub(crate) fn model_device(&self) -> Option<&DeviceSignals> {
        self.devices
            .iter()
            .find(|device| device.role == DeviceRole::Model)
    }
}
