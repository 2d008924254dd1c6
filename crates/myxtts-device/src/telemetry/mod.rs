//! How busy, how full, how hot: readings of a GPU while it works.
//!
//! NVIDIA cards answer through NVML, loaded at run time; every card that has
//! a PCI address answers in part through the kernel's files. Each reading is
//! a value or the reason why there is none.

mod host;
mod nvml;
mod sysfs;

use myxtts_config::units::Megabytes;
use serde::Serialize;

use crate::found::Gpu;
use crate::reading::Reading;

pub use host::{HostReadings, HostTelemetry};
pub use nvml::NvmlTelemetry;
pub use sysfs::SysfsTelemetry;

/// A source of readings.
pub trait Telemetry {
    /// What the GPU says now.
    fn read(&self, gpu: &Gpu) -> Readings;
}

/// One look at a GPU.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Readings {
    /// Share of time some kernel was running, in percent. Says nothing about
    /// how much of the card the kernel used.
    pub busy_percent: Reading<f64>,
    /// Memory in use by all programs.
    pub memory_used_mb: Reading<Megabytes>,
    /// Core temperature.
    pub temperature_celsius: Reading<f64>,
    /// Power drawn.
    pub power_watts: Reading<f64>,
    /// Power allowed.
    pub power_limit_watts: Reading<f64>,
    /// Clock of the cores.
    pub clock_mhz: Reading<f64>,
    /// The highest it can have.
    pub clock_max_mhz: Reading<f64>,
    /// Why the clock is held down; empty when it is not.
    pub throttling: Reading<Vec<String>>,
    /// The PCI Express link as it is and as it could be.
    pub pcie: Reading<PcieLink>,
}

/// A PCI Express link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PcieLink {
    /// Generation in use.
    pub generation: u32,
    /// Lanes in use.
    pub width: u32,
    /// Best generation of card and slot.
    pub max_generation: u32,
    /// Most lanes of card and slot.
    pub max_width: u32,
}

impl Readings {
    /// Nothing could be read, for one reason.
    pub fn unavailable(why: &str) -> Self {
        Self {
            busy_percent: Reading::Unavailable(why.to_owned()),
            memory_used_mb: Reading::Unavailable(why.to_owned()),
            temperature_celsius: Reading::Unavailable(why.to_owned()),
            power_watts: Reading::Unavailable(why.to_owned()),
            power_limit_watts: Reading::Unavailable(why.to_owned()),
            clock_mhz: Reading::Unavailable(why.to_owned()),
            clock_max_mhz: Reading::Unavailable(why.to_owned()),
            throttling: Reading::Unavailable(why.to_owned()),
            pcie: Reading::Unavailable(why.to_owned()),
        }
    }

    /// These readings, with gaps filled from `other`.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            busy_percent: self.busy_percent.or(other.busy_percent),
            memory_used_mb: self.memory_used_mb.or(other.memory_used_mb),
            temperature_celsius: self.temperature_celsius.or(other.temperature_celsius),
            power_watts: self.power_watts.or(other.power_watts),
            power_limit_watts: self.power_limit_watts.or(other.power_limit_watts),
            clock_mhz: self.clock_mhz.or(other.clock_mhz),
            clock_max_mhz: self.clock_max_mhz.or(other.clock_max_mhz),
            throttling: self.throttling.or(other.throttling),
            pcie: self.pcie.or(other.pcie),
        }
    }
}

/// NVML where it answers, the kernel's files for the rest.
#[derive(Debug)]
pub struct SystemTelemetry {
    nvml: NvmlTelemetry,
    sysfs: SysfsTelemetry,
}

impl SystemTelemetry {
    /// Loads what this machine has.
    pub fn new() -> Self {
        Self {
            nvml: NvmlTelemetry::load(),
            sysfs: SysfsTelemetry::system(),
        }
    }
}

impl Default for SystemTelemetry {
    fn default() -> Self {
        Self::new()
    }
}

impl Telemetry for SystemTelemetry {
    fn read(&self, gpu: &Gpu) -> Readings {
        self.nvml.read(gpu).or(self.sysfs.read(gpu))
    }
}
