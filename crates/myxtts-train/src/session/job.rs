//! What a training is told.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use myxtts_audio::AudioConfig;
use myxtts_data::prepare::Reading;
use myxtts_data::schedule::Beginnings;
use myxtts_data::units::{Codes, Tokens};
use myxtts_device::{DeviceMemory, MemoryCheck, Precision};
use myxtts_model::ModelSize;
use myxtts_model::dvae::DvaeConfig;
use myxtts_model::gpt::{GptConfig, Quirks};
use myxtts_run::guard::SpikeAction;
use myxtts_text::Vocabulary;
use serde::{Deserialize, Serialize};

use crate::feed::RingBytes;
use crate::optim::AdamWConfig;

/// A part of XTTS that is trained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StageName {
    /// Mel to codes and back.
    Dvae,
    /// Text and a voice to codes.
    Gpt,
    /// Latents of the GPT to a waveform.
    Decoder,
}

impl StageName {
    /// As flags, files and logs spell it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dvae => "dvae",
            Self::Gpt => "gpt",
            Self::Decoder => "decoder",
        }
    }
}

/// Where to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resume {
    /// At the newest checkpoint, if there is one.
    Auto,
    /// From nothing; a run that is there is refused.
    Never,
    /// At this step.
    At(u64),
}

/// Where features are kept from epoch to epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheKind {
    /// Made anew each time.
    None,
    /// In this process.
    Memory,
    /// In the prepared dataset's folder.
    Disk,
}

/// What the conditioning of a clip is cut from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConditioningFrom {
    /// The clip itself, as the public implementation has it.
    Clip,
    /// Another clip of its speaker, where there is one.
    Speaker,
}

/// How the learning rate goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScheduleKind {
    /// Stays.
    Constant,
    /// Half a cosine to a twentieth.
    Cosine,
    /// Inverse square root.
    Noam,
    /// Halves after a half, and three quarters, of the steps.
    MultiStep,
}

/// Everything that steers the optimiser.
#[derive(Clone, Copy, Debug)]
pub struct Optimisation {
    /// Highest learning rate of the GPT.
    pub learning_rate: f64,
    /// Highest learning rate of the DVAE.
    pub dvae_learning_rate: f64,
    /// Highest learning rate of the decoder and of its judges.
    pub decoder_learning_rate: f64,
    /// That of the decoder itself, where somebody set it.
    pub generator_learning_rate: Option<f64>,
    /// Steps without judges, where somebody set them.
    pub decoder_spectral_steps: Option<u64>,
    /// Steps of the judges alone, where somebody set them.
    pub discriminator_warmup_steps: Option<u64>,
    /// How it goes.
    pub schedule: ScheduleKind,
    /// Steps of the rise.
    pub warmup_steps: u64,
    /// Whether a person chose them: other numbers are held to a tenth of a
    /// stage.
    pub warmup_chosen: bool,
    /// Largest norm of a gradient.
    pub gradient_clip: f64,
    /// Mass on wrong tokens.
    pub label_smoothing: f64,
    /// Share of activations dropped.
    pub dropout: Option<f64>,
    /// Memory of the average of weights; 0 keeps none.
    pub ema_decay: f64,
    /// Moments and decay.
    pub adamw: AdamWConfig,
    /// What to do about a loss that jumps.
    pub spikes: SpikeAction,
    /// Bad steps in a row that are left out.
    pub bad_steps: usize,
    /// Validations without progress that end a stage; 0 never does.
    pub patience: u64,
}

impl Optimisation {
    /// The highest learning rate of a stage.
    pub fn rate_of(&self, stage: StageName) -> f64 {
        match stage {
            StageName::Dvae => self.dvae_learning_rate,
            StageName::Gpt => self.learning_rate,
            StageName::Decoder => self.decoder_learning_rate,
        }
    }
}

/// How long a stage takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StageLength {
    /// Passes over the data.
    pub epochs: u64,
    /// At most so many steps.
    pub max_steps: Option<u64>,
}

/// How often what happens besides training, in steps; 0 for the end only.
#[derive(Clone, Copy, Debug)]
pub struct Cadence {
    /// A validation.
    pub validate: u64,
    /// Samples.
    pub samples: u64,
    /// A checkpoint.
    pub checkpoint: u64,
    /// Newest checkpoints that stay.
    pub keep: usize,
    /// A line in a quiet log.
    pub log: u64,
}

/// Buffers, as the plan has them.
#[derive(Clone, Copy, Debug)]
pub struct Buffers {
    /// Host threads.
    pub workers: usize,
    /// Whether a person chose the number.
    pub workers_chosen: bool,
    /// Most batches in flight.
    pub in_flight: usize,
    /// Batches in flight to begin with.
    pub in_flight_start: usize,
    /// Most batches on the device; 0 prefetches nothing.
    pub depth: usize,
    /// Batches on the device to begin with.
    pub depth_start: usize,
    /// Whether the knobs follow the waits.
    pub adaptive: bool,
    /// Longest wait before the first step.
    pub start_delay: Duration,
    /// Whether the start waits for the buffer.
    pub waits: bool,
    /// Bytes the rings may hold.
    pub ring_bytes: RingBytes,
}

/// What a training is told.
#[derive(Clone, Debug)]
pub struct Job {
    /// The run's folder.
    pub run: PathBuf,
    /// What to train, in order.
    pub stages: Vec<StageName>,
    /// The prepared dataset.
    pub dataset: PathBuf,
    /// Share of the clips that may be gone since they were prepared.
    pub max_bad_fraction: f64,
    /// Keeps the prepared folders as they are until they are read.
    pub reading: Reading,
    /// A prepared dataset to validate on, in place of the held-out clips.
    pub validation: Option<PathBuf>,
    /// Sizes of a new GPT; its vocabulary is that of the texts.
    pub gpt: GptConfig,
    /// Sizes of a new DVAE.
    pub dvae: DvaeConfig,
    /// Size of a new decoder.
    pub decoder_size: ModelSize,
    /// The vocabulary a person named.
    pub vocabulary: Option<Arc<Vocabulary>>,
    /// Weights to start from.
    pub init: Option<PathBuf>,
    /// Where to go on.
    pub resume: Resume,
    /// Take the weights of the checkpoint and begin at step 0.
    pub reset_training: bool,
    /// What the GPT's matrix products are computed in.
    pub precision: Precision,
    /// The most that a model device computes in it, operations a second;
    /// `None` where the card is not known.
    pub peak_flops: Option<f64>,
    /// Seed of every random choice.
    pub seed: u64,
    /// How recordings are loaded.
    pub audio: AudioConfig,
    /// Most tokens of a text.
    pub max_text: Tokens,
    /// Bucket shapes.
    pub buckets: usize,
    /// Whether batches keep to them.
    pub static_shapes: bool,
    /// Most codes of a clip.
    pub max_audio: Codes,
    /// Rows of the longest bucket, on each replica.
    pub batch_size: u32,
    /// Batches of a step.
    pub accumulation: usize,
    /// Conditioning segments, in samples.
    pub conditioning: [usize; 2],
    /// What they are cut from.
    pub conditioning_from: ConditioningFrom,
    /// Where in a recording a clip may begin.
    pub beginnings: Beginnings,
    /// Feature cache.
    pub cache: CacheKind,
    /// The optimiser.
    pub optimisation: Optimisation,
    /// Length of each stage.
    pub lengths: BTreeMap<StageName, StageLength>,
    /// Steps that a stage takes at least, whatever its epochs: those of few
    /// recordings are short. Absent where a person chose the epochs.
    pub least_steps: BTreeMap<StageName, u64>,
    /// Everything besides steps.
    pub cadence: Cadence,
    /// Rings and workers.
    pub buffers: Buffers,
    /// What devices were estimated to need, and have.
    pub memory: Vec<DeviceMemory>,
    /// What to do where they have less.
    pub memory_check: MemoryCheck,
    /// Whether accidents of the public implementation are repeated.
    pub quirks: Quirks,
    /// Parts of the GPT that are left as they are, by the start of their names.
    pub frozen: Vec<String>,
    /// Sentences synthesised at the end, with their language; empty takes some
    /// of the training data.
    pub sample_texts: Vec<String>,
    /// How many at the end.
    pub sample_count: usize,
    /// Frames of a segment that the DVAE learns from, and segments of a batch.
    pub segment_frames: usize,
    /// Segments of a batch.
    pub segment_batch: u32,
    /// Frames of a segment that the decoder learns from; a code is some four.
    pub decoder_frames: usize,
    /// The effective configuration, compared when a run goes on.
    pub config: serde_json::Value,
    /// The same with the origin of every value, for people.
    pub config_text: String,
    /// The plan.
    pub plan: serde_json::Value,
    /// The same as people read it, for the log.
    pub plan_text: String,
}
