//! Start values per card. `myxtts tune` replaces them with measured ones.

use myxtts_config::Layer;
use serde_json::json;

use crate::config::GpuProfile;
use crate::machine::Gpu;

/// Start values for one card, or for cards of one memory size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preset {
    /// The name, as `config show` prints it after `presets`.
    pub name: &'static str,
    /// The cards it is for.
    pub cards: &'static str,
    /// Clips of the greatest length in a batch.
    pub batch_size: u32,
    /// Batches accumulated per step.
    pub accumulation: u32,
    /// Host threads, before they are held to the host's cores.
    pub workers: u32,
    /// Batches in the ring on the device.
    pub ring_depth: u32,
}

const fn preset(name: &'static str, cards: &'static str, values: [u32; 4]) -> Preset {
    let [batch_size, accumulation, workers, ring_depth] = values;
    Preset {
        name,
        cards,
        batch_size,
        accumulation,
        workers,
        ring_depth,
    }
}

const RTX4090: Preset = preset("rtx4090", "RTX 4090, 24 GB", [32, 1, 24, 32]);
const RTX3090: Preset = preset("rtx3090", "RTX 3090, 24 GB", [24, 1, 16, 24]);
const RTX3080: Preset = preset("rtx3080", "RTX 3080, 12 GB", [16, 1, 16, 16]);
const RTX3060: Preset = preset("rtx3060", "RTX 3060, 12 GB", [8, 2, 8, 8]);
const AUTO_20: Preset = preset(
    "auto (20+ GB)",
    "any GPU with 20 GB or more",
    [48, 1, 16, 48],
);
const AUTO_12: Preset = preset("auto (12+ GB)", "any GPU with 12 to 20 GB", [32, 1, 12, 32]);
const AUTO_8: Preset = preset("auto (8+ GB)", "any GPU with 8 to 12 GB", [16, 2, 8, 24]);
const AUTO_LESS: Preset = preset(
    "auto (under 8 GB)",
    "any GPU with less, or unknown memory",
    [8, 4, 4, 16],
);
/// On the CPU there is no transfer to hide, and the model itself needs every core.
const AUTO_CPU: Preset = preset("auto (no GPU)", "no GPU", [16, 1, 4, 2]);

/// Returns every preset, in the order in which `config presets` lists them.
pub fn presets() -> [Preset; 9] {
    [
        RTX4090, RTX3090, RTX3080, RTX3060, AUTO_20, AUTO_12, AUTO_8, AUTO_LESS, AUTO_CPU,
    ]
}

impl Preset {
    /// Returns the preset of a profile; `auto` goes by the smallest of the GPUs.
    pub fn of(profile: GpuProfile, gpus: &[Gpu]) -> Self {
        match profile {
            GpuProfile::Rtx4090 => RTX4090,
            GpuProfile::Rtx3090 => RTX3090,
            GpuProfile::Rtx3080 => RTX3080,
            GpuProfile::Rtx3060 => RTX3060,
            GpuProfile::Auto if gpus.is_empty() => AUTO_CPU,
            GpuProfile::Auto => {
                let memory = |gpu: &Gpu| gpu.memory.value().map_or(0, |memory| memory.0);
                match gpus.iter().map(memory).min().unwrap_or(0) {
                    // A "24 GB" card reports a little less to programs.
                    19_000.. => AUTO_20,
                    11_000.. => AUTO_12,
                    7_500.. => AUTO_8,
                    _ => AUTO_LESS,
                }
            }
        }
    }

    /// Returns the values as a layer between the defaults and the file.
    pub fn layer(&self) -> Layer {
        Layer::preset(
            self.name,
            [
                ("data.batch_size", json!(self.batch_size)),
                ("data.num_workers", json!(self.workers)),
                ("data.prefetch_buffer_size", json!(self.ring_depth)),
                (
                    "training.gradient_accumulation_steps",
                    json!(self.accumulation),
                ),
            ],
        )
    }
}
