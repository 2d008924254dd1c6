//! What a training needs of the memory of a device, and whether it has that much.
//!
//! This crate knows no models: a [`Workload`], a pure function of sizes, says
//! what a training needs of a device. The answer is an estimate that is meant to
//! be too high rather than too low, and the plan calls it one.

use std::fmt;

use myxtts_base::MEGABYTE;
use myxtts_config::units::Megabytes;
use serde::Serialize;

use super::savings::Savings;
use crate::config::Precision;

/// What a device does in a training, as far as its memory is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Share {
    /// Whether a replica of the model trains on the device.
    pub trains: bool,
    /// Whether batches are made on the device.
    pub prepares: bool,
    /// Whether the model is copied to the device for validation and samples.
    pub has_copies: bool,
    /// Whether the device is the host: its kernels keep less for the backward
    /// pass, and the program itself and all its buffers are in the same memory.
    pub is_host: bool,
    /// Rows of the longest shape in a batch.
    pub batch_size: u32,
    /// Batches accumulated per step.
    pub accumulation: u32,
    /// Batches that wait on the device.
    pub ring: u32,
    /// Batches in flight at the start, in all stages together.
    pub in_flight: u32,
    /// The most memory that batches take while they wait on the host.
    pub host_ring: Megabytes,
    /// The precision to compute in.
    pub precision: Precision,
    /// How memory is saved.
    #[serde(flatten)]
    pub savings: Savings,
    /// The longest clip, in mel frames; `None` means the workload's own.
    pub mel_frames: Option<u32>,
}

/// The bytes that a training needs of one device at its peak, by part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MemoryNeeds {
    /// The parameters of the model.
    pub weights: u64,
    /// Gradients of the parameters; more than one set where batches are accumulated.
    pub gradients: u64,
    /// Both moments of AdamW.
    pub moments: u64,
    /// What the forward pass keeps for the backward pass, in the bucket that
    /// keeps most.
    pub activations: u64,
    /// Batches that wait for their step.
    pub batches: u64,
    /// Work space for making batches: mels, the DVAE, and in the decoder stage a
    /// frozen GPT.
    pub data_work: u64,
    /// Further copies of weights: for validation and samples, for averages, and
    /// of the weights a training started from.
    pub copies: u64,
    /// The program itself, and what its allocator or the engine's pools hold
    /// beyond what is asked of them.
    pub overhead: u64,
}

impl MemoryNeeds {
    /// Returns the sum of all parts.
    pub fn total(&self) -> u64 {
        self.parts().iter().map(|(_, bytes)| bytes).sum()
    }

    fn parts(&self) -> [(&'static str, u64); 8] {
        [
            ("weights", self.weights),
            ("gradients", self.gradients),
            ("AdamW", self.moments),
            ("activations", self.activations),
            ("batches", self.batches),
            ("data work", self.data_work),
            ("copies", self.copies),
            ("overhead", self.overhead),
        ]
    }
}

/// Formats as `weights 84, gradients 84, ... MB`, without the parts that are zero.
impl fmt::Display for MemoryNeeds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = self.parts().into_iter().filter(|(_, bytes)| *bytes > 0);
        let words: Vec<String> = parts
            .map(|(name, bytes)| format!("{name} {}", megabytes(bytes).0))
            .collect();
        write!(f, "{} MB", words.join(", "))
    }
}

/// Converts bytes to megabytes, rounded up: a device of the number shown is enough.
fn megabytes(bytes: u64) -> Megabytes {
    Megabytes(bytes.div_ceil(MEGABYTE))
}

/// The number of clips in one optimizer step, over an epoch: batches of short
/// clips have more rows than those of long ones.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ClipsPerStep {
    /// The fewest clips in a step.
    pub least: u64,
    /// The most clips in a step.
    pub most: u64,
    /// The average number of clips in a step.
    pub mean: f64,
}

impl ClipsPerStep {
    /// Returns the numbers for a step of `batches` batches in place of one.
    #[must_use]
    pub(crate) fn times(self, batches: u32) -> Self {
        Self {
            least: self.least * u64::from(batches),
            most: self.most * u64::from(batches),
            mean: self.mean * f64::from(batches),
        }
    }
}

/// What is trained, as a pure function from a share of the work to the memory it needs.
pub trait Workload: fmt::Debug + Send + Sync {
    /// Returns what a device with this share needs, in the stage that needs most.
    fn needs(&self, share: &Share) -> MemoryNeeds;
    /// Returns the longest shape that the configuration allows.
    fn longest(&self) -> LongestShape;
    /// Returns the number of clips in one batch of all replicas together, if the
    /// clips are known.
    fn clips(&self, batch_size: u32, replicas: u32) -> Option<ClipsPerStep>;
    /// Whether the GPT comes with weights, beside which it may learn adapters.
    fn may_adapt(&self) -> bool {
        false
    }
}

/// The longest shape that the configuration allows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LongestShape {
    /// The number of text tokens.
    pub text: u32,
    /// The number of audio codes.
    pub codes: u32,
    /// The number of mel frames of those codes.
    pub mel_frames: u32,
}

/// Whether the work fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The work fits, by the estimate.
    Fits,
    /// The work does not fit, by the estimate, and `data.memory_check` is `warn`.
    TooLarge,
    /// The driver does not say how much memory there is.
    Unknown,
}

/// What one device is estimated to need, and what it has.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DeviceMemory {
    /// The label of the device, `GPU 0` or `CPU`.
    pub device: String,
    /// The logical number of the device.
    pub logical: u32,
    /// What the device does in the training.
    pub share: Share,
    /// The estimate by part, in bytes.
    pub needs: MemoryNeeds,
    /// The estimate in total.
    pub needed_mb: Megabytes,
    /// The memory, or the budget under memory isolation; `None` where it is unknown.
    pub memory_mb: Option<Megabytes>,
    /// The flag that sets the budget; `None` without memory isolation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<&'static str>,
    /// Whether the work fits, by the estimate.
    pub verdict: Verdict,
}

impl DeviceMemory {
    /// Replaces the estimate, and judges it again.
    #[must_use]
    pub fn needing(mut self, needs: MemoryNeeds) -> Self {
        self.needs = needs;
        self.needed_mb = megabytes(needs.total());
        self.verdict = match self.memory_mb {
            None => Verdict::Unknown,
            Some(memory) if self.needed_mb <= memory => Verdict::Fits,
            Some(_) => Verdict::TooLarge,
        };
        self
    }

    /// Names the device's work: `model and data work`, `model` or `data work`.
    pub fn work(&self) -> &'static str {
        match (self.share.trains, self.share.prepares) {
            (true, true) => "model and data work",
            (true, false) => "model",
            (false, _) => "data work",
        }
    }

    /// Says how much memory there is.
    pub fn found(&self) -> String {
        match (self.memory_mb, self.budget) {
            (None, _) => "the driver does not report memory".to_owned(),
            (Some(memory), None) => memory.to_string(),
            (Some(memory), Some(flag)) => format!("{flag} {}", memory.0),
        }
    }

    /// Says what the device lacks memory for.
    pub(super) fn lack(&self) -> String {
        format!(
            "{} MB are estimated for the {} of {}, which has {}",
            self.needed_mb.0,
            self.work(),
            self.device,
            self.found()
        )
    }
}
