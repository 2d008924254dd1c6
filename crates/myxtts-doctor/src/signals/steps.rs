//! The train step: `metrics.jsonl`, one line per step.

use serde::{Deserialize, Serialize};

use crate::signal::Signal;
use crate::units::{Flop, Seconds, Share};

/// Means over the steps after warm-up; seconds are per optimizer step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StepSignals {
    /// The number of steps that were measured, after warm-up.
    pub measured: u64,
    /// The number of steps still to come in this run, in all stages.
    pub remaining: Signal<u64>,
    /// Wall time of a step without pauses; `step_s`, else the difference of
    /// `wall_time` between two lines.
    pub step: Signal<Seconds>,
    /// The model's waiting for data, within the step; `data_wait_s`.
    pub data_wait: Signal<Seconds>,
    /// The training thread's waiting for the device; `read_back_s`.
    pub read_back: Signal<Seconds>,
    /// How often the training thread waited for the device in a step; `syncs`.
    pub syncs: Signal<f64>,
    /// Averaging gradients between replicas; `collective_s`.
    pub collective: Signal<Seconds>,
    /// Processor time of the training thread, which launches kernels; `dispatch_s`.
    pub dispatch: Signal<Seconds>,
    /// Time in which the training thread could have run and had no core;
    /// `core_wait_s` (Linux: the run delay of `/proc/self/task/ID/schedstat`).
    pub core_wait: Signal<Seconds>,
    /// The share of positions that are padding; `padding`.
    pub padding: Signal<Share>,
    /// The seconds of sound in a step; `audio_s`.
    pub audio: Signal<Seconds>,
    /// The model's own count of operations in a step, forward and backward; `flop`.
    pub flop: Signal<Flop>,
    /// How evenly steps follow each other.
    pub oscillation: Signal<Oscillation>,
    /// Kernels compiled after warm-up; `kernels_new`.
    pub recompiles: Signal<Recompiles>,
    /// What interrupts the steps; `checkpoint_s`, `validation_s`, `samples_s`.
    pub pauses: Signal<Pauses>,
    /// Replicas by rank, each without waiting for the others; `replica_step_s`.
    pub replicas: Signal<Vec<Replica>>,
    /// The same steps on cached batches and on live ones, from a probe.
    pub headroom: Signal<Headroom>,
    /// The speed of the modes on these devices, from `profile`.
    pub modes: Signal<Vec<ModeSpeed>>,
}

/// How evenly steps follow each other. Where the work of each step is known
/// (`audio_s`, `padding`), what it explains of the differences is taken out:
/// a batch of longer clips is not a stall.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Oscillation {
    /// The standard deviation of the step time over its mean.
    pub variation: f64,
    /// The strongest repetition, where there is one.
    pub period: Option<Period>,
    /// The mean step less the median one: what the slow steps add, per step.
    pub excess: Seconds,
}

/// A repetition in the step times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Period {
    /// The number of steps from one slow step to the next.
    pub steps: usize,
    /// The autocorrelation at that lag, up to 1.
    pub strength: f64,
}

/// Kernels that were compiled after the warm-up.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recompiles {
    /// The number of kernels compiled.
    pub kernels: u64,
    /// The number of steps that compiled some.
    pub steps: u64,
    /// How much longer those steps took than the others; `None` where every step
    /// compiled some.
    pub extra: Option<Seconds>,
}

/// Interruptions, in seconds per step on average.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pauses {
    /// Time spent writing checkpoints.
    pub checkpoint: Seconds,
    /// Time spent on validation.
    pub validation: Seconds,
    /// Time spent rendering samples.
    pub samples: Seconds,
}

impl Pauses {
    /// Returns the sum of all three.
    pub(crate) fn total(&self) -> Seconds {
        Seconds(self.checkpoint.0 + self.validation.0 + self.samples.0)
    }
}

/// One replica of a mirrored training.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Replica {
    /// Its rank; model devices of the plan are in this order.
    pub rank: usize,
    /// The median of its own step time, before it waits for the others.
    pub step: Seconds,
    /// The modified z-score of that time against the other replicas.
    pub z_score: f64,
}

/// The same number of steps, taken twice.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Headroom {
    /// The time of a step on batches that are there already.
    pub cached: Seconds,
    /// The time of a step on batches from the pipeline.
    pub live: Seconds,
}

/// The measured speed of a mode.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModeSpeed {
    /// The mode: `single`, `split` or `mirrored`.
    pub mode: String,
    /// Seconds of sound trained on per second.
    pub audio_per_second: f64,
    /// Whether it is the mode of this training.
    pub in_use: bool,
}
