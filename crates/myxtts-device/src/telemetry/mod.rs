//! Readings of a GPU while it works: how busy, how full, how hot.
//!
//! NVIDIA cards answer through NVML, loaded at run time; every card with a PCI
//! address answers in part through the kernel's files. Each reading is a value or
//! the reason why there is none.

mod host;
mod nvml;
mod sysfs;

use myxtts_config::units::Megabytes;
use serde::Serialize;

use crate::machine::Gpu;
use crate::reading::Reading;

pub use host::{HostReadings, HostTelemetry};
use nvml::NvmlTelemetry;
pub use sysfs::SysfsTelemetry;

/// A source of readings of GPUs.
pub trait Telemetry {
    /// Reads what the GPU reports now.
    fn read(&self, gpu: &Gpu) -> Readings;
}

/// One reading of a GPU.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Readings {
    /// Share of time during which a kernel was running, in percent. It says
    /// nothing about how much of the card the kernel used.
    pub busy_percent: Reading<f64>,
    /// Memory used by all programs.
    pub memory_used_mb: Reading<Megabytes>,
    /// The temperature of the cores.
    pub temperature_celsius: Reading<f64>,
    /// The power the card draws.
    pub power_watts: Reading<f64>,
    /// The power the card may draw.
    pub power_limit_watts: Reading<f64>,
    /// The present clock of the cores.
    pub clock_mhz: Reading<f64>,
    /// The highest clock of the cores.
    pub clock_max_mhz: Reading<f64>,
    /// Why the clock is held down; empty when it is not.
    pub throttling: Reading<Vec<String>>,
    /// The PCI Express link as it is, and as it could be.
    pub pcie: Reading<PcieLink>,
}

/// A PCI Express link as it is, and as it could be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PcieLink {
    /// The generation in use.
    pub generation: u32,
    /// The number of lanes in use.
    pub width: u32,
    /// The best generation that card and slot support.
    pub max_generation: u32,
    /// The most lanes that card and slot support.
    pub max_width: u32,
}

impl Readings {
    /// Makes readings that are all unavailable, for one reason.
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

    /// Fills gaps in these readings from `other`.
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

/// A source that uses NVML where it answers, and the kernel's files for the rest.
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
