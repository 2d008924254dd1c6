//! Devices and the host: `devices.jsonl`, `plan.json`, discovery.

use serde::{Deserialize, Serialize};

use crate::signal::Signal;
use crate::units::{Megabytes, Seconds, Share};

use super::settings::Precision;

/// The host, and what discovery said.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MachineSignals {
    /// The number of cores that this program may use; `host.cores`.
    pub cores: Signal<u32>,
    /// How busy all cores are, with all programs; `host.cpu_pct`.
    pub cpu_busy: Signal<Share>,
    /// What each backend said, from discovery.
    pub backends: Signal<Vec<BackendFound>>,
}

/// A backend and what it offers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BackendFound {
    /// Its name: `cuda`, `rocm`, `metal`, `vulkan` or `wgpu`.
    pub name: String,
    /// The GPUs it offers.
    pub gpus: Vec<GpuFound>,
    /// Why there are none, in the driver's own words.
    pub unavailable: Option<String>,
}

/// A GPU that discovery found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GpuFound {
    /// Its id in `myxtts devices`.
    pub id: u32,
    /// The name of the GPU.
    pub name: String,
    /// The size of its memory.
    pub memory: Signal<Megabytes>,
}

/// A device of the plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceSignals {
    /// Its number within the run.
    pub logical: u32,
    /// The name of the device.
    pub name: String,
    /// The backend that reaches it, as flags spell it.
    pub backend: String,
    /// What the device does.
    pub role: DeviceRole,
    /// The share of time in which some kernel ran; `utilisation_pct`.
    pub busy: Signal<Share>,
    /// The memory that it may use; `memory_budget_mb` of the plan.
    pub budget: Signal<Megabytes>,
    /// Memory over the run; `memory_used_mb`, and the budget of the plan.
    pub memory: Signal<Memory>,
    /// What the plan estimated; `memory` of the plan: bytes that stay and
    /// bytes that grow with the batch.
    pub estimate: Signal<Estimate>,
    /// The share of readings in which the driver held the clock down, and why; `throttle`.
    pub throttled: Signal<Throttled>,
    /// The mean and the highest clock; `clock_mhz`, `clock_max_mhz`.
    pub clock: Signal<Clock>,
    /// The link at its best during the run; `pcie_gen`, `pcie_width`.
    pub pcie: Signal<PcieLink>,
    /// The precisions it computes in, from discovery.
    pub precisions: Signal<Vec<Precision>>,
    /// The most operations a second by the maker's data sheet, if the card is known.
    pub peak_flops: Signal<crate::units::FlopPerSecond>,
}

/// What a device does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeviceRole {
    /// It only prepares data.
    Data,
    /// It trains, and may prepare its own data.
    Model,
}

/// The memory of a device over the run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    /// The most in use at once.
    pub peak: Megabytes,
    /// The most that may be used.
    pub budget: Megabytes,
    /// In use at the end of the warm-up; `None` where nothing was read then.
    pub baseline: Option<Megabytes>,
    /// The median of the newest readings; `None` where there are too few.
    pub latest: Option<Megabytes>,
}

/// The plan's estimate of a device's memory.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Weights, gradients, moments, copies and overhead.
    pub fixed: Megabytes,
    /// Activations, batches and the work on data, at the present batch size.
    pub growing: Megabytes,
}

/// How often the clock was held down, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Throttled {
    /// The share of readings in which it was.
    pub share: Share,
    /// The driver's reasons, each once.
    pub reasons: Vec<String>,
}

/// The clock of a device.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Clock {
    /// The mean while training, in MHz.
    pub mean_mhz: f64,
    /// The highest it can reach, in MHz.
    pub max_mhz: f64,
}

/// A PCI Express link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PcieLink {
    /// The best generation that was seen: an idle link drops it to save power.
    pub generation: u32,
    /// The most lanes that were seen.
    pub width: u32,
    /// The best generation that card and slot allow.
    pub max_generation: u32,
    /// The most lanes that card and slot allow.
    pub max_width: u32,
}

impl PcieLink {
    /// Returns the rate as a share of the best: a generation doubles it, lanes add up.
    pub fn speed(&self) -> Share {
        let rate = |generation: u32, width: u32| {
            f64::from(width) * 2_f64.powi(i32::try_from(generation.min(16)).unwrap_or(0))
        };
        let best = rate(self.max_generation, self.max_width);
        Share::of(Seconds(rate(self.generation, self.width)), Seconds(best))
    }
}
