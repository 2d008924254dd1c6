//! Devices and the host: `devices.jsonl`, `plan.json`, discovery.

use serde::{Deserialize, Serialize};

use crate::signal::Signal;
use crate::units::{Megabytes, Seconds, Share};

use super::settings::Precision;

/// The host, and what discovery said.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MachineSignals {
    /// Cores that this program may use; `host.cores`.
    pub cores: Signal<u32>,
    /// How busy all cores are, with everything; `host.cpu_pct`.
    pub cpu_busy: Signal<Share>,
    /// What each backend said, from discovery.
    pub backends: Signal<Vec<BackendFound>>,
}

/// A backend and what it offers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BackendFound {
    /// `cuda`, `rocm`, `metal`, `vulkan`, `wgpu`.
    pub name: String,
    /// Its GPUs.
    pub gpus: Vec<GpuFound>,
    /// Why there are none, in the driver's own words.
    pub unavailable: Option<String>,
}

/// A GPU that discovery found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GpuFound {
    /// Its id in `myxtts devices`.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// Its memory.
    pub memory: Signal<Megabytes>,
}

/// A device of the plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceSignals {
    /// Its number within the run.
    pub logical: u32,
    /// Its name.
    pub name: String,
    /// The backend that reaches it, as flags spell it.
    pub backend: String,
    /// What it does.
    pub role: DeviceRole,
    /// Share of time in which some kernel ran; `utilisation_pct`.
    pub busy: Signal<Share>,
    /// What it may use; `memory_budget_mb` of the plan.
    pub budget: Signal<Megabytes>,
    /// Memory over the run; `memory_used_mb`, budget of the plan.
    pub memory: Signal<Memory>,
    /// What the plan estimated; `memory` of the plan: bytes that stay and
    /// bytes that grow with the batch.
    pub estimate: Signal<Estimate>,
    /// Share of readings in which the driver held the clock down, and why; `throttle`.
    pub throttled: Signal<Throttled>,
    /// Clock, mean and most; `clock_mhz`, `clock_max_mhz`.
    pub clock: Signal<Clock>,
    /// The link at its best during the run; `pcie_gen`, `pcie_width`.
    pub pcie: Signal<PcieLink>,
    /// Precisions it computes in, from discovery.
    pub precisions: Signal<Vec<Precision>>,
    /// Most operations a second by the vendor's sheet, if the card is known.
    pub peak_flops: Signal<crate::units::FlopPerSecond>,
}

/// What a device does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeviceRole {
    /// Prepares data only.
    Data,
    /// Trains, and may prepare its own data.
    Model,
}

/// Memory over the run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    /// Most at once.
    pub peak: Megabytes,
    /// What may be used.
    pub budget: Megabytes,
    /// At the end of warm-up; none where nothing was read then.
    pub baseline: Option<Megabytes>,
    /// Median of the newest readings; none where there are too few.
    pub latest: Option<Megabytes>,
}

/// The plan's estimate of a device.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Weights, gradients, moments, copies, overhead.
    pub fixed: Megabytes,
    /// Activations and batches, at the present batch size.
    pub growing: Megabytes,
}

/// How often, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Throttled {
    /// Share of readings.
    pub share: Share,
    /// The driver's words, each once.
    pub reasons: Vec<String>,
}

/// A clock.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Clock {
    /// Mean while training, in MHz.
    pub mean_mhz: f64,
    /// The most it can, in MHz.
    pub max_mhz: f64,
}

/// A PCI Express link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PcieLink {
    /// Best generation seen: an idle link drops it to save power.
    pub generation: u32,
    /// Most lanes seen.
    pub width: u32,
    /// Best generation of card and slot.
    pub max_generation: u32,
    /// Most lanes of card and slot.
    pub max_width: u32,
}

impl PcieLink {
    /// Its rate as a share of the best: a generation doubles it, lanes add up.
    pub fn speed(&self) -> Share {
        let rate = |generation: u32, width: u32| {
            f64::from(width) * 2_f64.powi(i32::try_from(generation.min(16)).unwrap_or(0))
        };
        let best = rate(self.max_generation, self.max_width);
        Share::of(Seconds(rate(self.generation, self.width)), Seconds(best))
    }
}
