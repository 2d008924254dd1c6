//! What the training was told: `config.yaml` and `plan.json`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::signal::Signal;

/// Values of configuration and plan, from which edits start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// Every key of the effective configuration with its value as text
    /// (`data.cache` -> `disk`); a key without a value is left out.
    pub keys: Signal<BTreeMap<String, String>>,
    /// The part of XTTS in training; `stage` of the newest metrics line.
    pub stage: Signal<TrainStage>,
    /// How the work is spread; `strategy` of the plan.
    pub strategy: Signal<Strategy>,
    /// The most host threads that prepare batches; `workers` of the plan.
    pub workers: Signal<u32>,
    /// Rows of the longest shape in a batch; `batch_size` of the plan.
    pub batch_size: Signal<u32>,
    /// Batches per optimizer step; `gradient_accumulation_steps` of the plan.
    pub accumulation: Signal<u32>,
    /// The most batches in the device-side ring; `device_prefetch` of the plan.
    pub device_ring: Signal<u32>,
    /// The compute precision; `precision` of the plan.
    pub precision: Signal<Precision>,
    /// Whether shapes come from a small closed set; `static_shapes` of the plan.
    pub static_shapes: Signal<bool>,
    /// Whether kernels are fused; `graph_mode` of the plan, `None` on the CPU.
    pub fusion: Signal<Option<bool>>,
    /// Where features are cached; `data.cache`.
    pub cache: Signal<CacheKind>,
    /// The number of length buckets; `data.buckets`.
    pub buckets: Signal<u32>,
}

impl Settings {
    /// Returns the value of a configuration key as text, if it is known.
    pub(crate) fn key(&self, name: &str) -> Option<&str> {
        self.keys.known()?.get(name).map(String::as_str)
    }

    /// Returns the value of a configuration key as a whole number, if it is one.
    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        self.key(name)?.parse().ok()
    }

    /// Returns whether the model trains on a GPU, software ones included.
    pub(crate) fn on_gpu(&self) -> Signal<bool> {
        self.strategy
            .clone()
            .map(|strategy| strategy != Strategy::Cpu)
    }
}

/// A trainable part of XTTS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TrainStage {
    /// The DVAE: mels to codes.
    Dvae,
    /// The GPT: text to codes.
    Gpt,
    /// The waveform decoder: latents to sound.
    Decoder,
}

/// How the work is spread over devices, as the plan names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// Everything on the processor.
    Cpu,
    /// Everything on one GPU.
    OneDevice,
    /// Data parallel over several GPUs.
    Mirrored,
    /// Data work on one GPU, the model on another.
    Split,
    /// Data work on one GPU, replicas on the others.
    SplitMirrored,
}

/// The precision that products are computed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// Single precision, 32 bits.
    F32,
    /// Half precision with the range of single.
    Bf16,
    /// IEEE half precision, 16 bits.
    F16,
}

/// Where features are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CacheKind {
    /// Nowhere: made anew for every batch.
    None,
    /// In the process's memory.
    Memory,
    /// In files on disk.
    Disk,
}
