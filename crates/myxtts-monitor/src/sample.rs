//! One look at the machine: a line of `devices.jsonl`, or what the devices told
//! the monitor itself.

use serde::{Deserialize, Serialize};

use crate::reading::Reading;
use crate::units::WallTime;

/// The machine at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MachineSample {
    /// When it was taken.
    pub wall_time: WallTime,
    /// The processor and main memory.
    pub host: HostSample,
    /// The GPUs; empty on a machine without one.
    pub devices: Vec<DeviceSample>,
    /// Why there is no GPU, where there is none and the reason is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// The processor and main memory at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostSample {
    /// The share of all cores in use, in percent.
    pub cpu_pct: Reading<f64>,
    /// Main memory in use, in MB.
    pub memory_mb: Reading<f64>,
    /// All of the main memory, in MB.
    pub memory_total_mb: Reading<f64>,
}

/// A GPU at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DeviceSample {
    /// The id of the GPU, as `myxtts devices` lists it.
    pub device: u32,
    /// The name of the GPU.
    pub name: String,
    /// The share of time that some kernel was running, in percent.
    pub utilisation_pct: Reading<f64>,
    /// Memory in use by all programs, in MB.
    pub memory_used_mb: Reading<f64>,
    /// All of its memory, in MB.
    pub memory_total_mb: Reading<f64>,
    /// The power drawn, in watts.
    pub power_w: Reading<f64>,
    /// The power allowed, in watts.
    pub power_limit_w: Reading<f64>,
    /// The temperature of the core, in degrees Celsius.
    pub temperature_c: Reading<f64>,
    /// The core clock, in MHz.
    pub clock_mhz: Reading<f64>,
    /// The highest core clock, in MHz.
    pub clock_max_mhz: Reading<f64>,
    /// Why the clock is held down; empty where it is not.
    pub throttle: Reading<Vec<String>>,
    /// The PCI Express generation in use.
    pub pcie_gen: Reading<f64>,
    /// The best generation that card and slot allow.
    pub pcie_gen_max: Reading<f64>,
    /// The number of PCI Express lanes in use.
    pub pcie_width: Reading<f64>,
    /// The most lanes that card and slot allow.
    pub pcie_width_max: Reading<f64>,
}

impl DeviceSample {
    /// Returns what the PCI Express link can carry one way, in GB/s: lanes times the
    /// generation's rate after its line code.
    pub(crate) fn pcie_gb_s(&self) -> Option<f64> {
        let generation = *self.pcie_gen.value()?;
        // 2.5 and 5 GT/s lose a fifth to 8b/10b, later rates 2 of 130 bits.
        let lanes = [
            (1.0, 0.25),
            (2.0, 0.5),
            (3.0, 0.985),
            (4.0, 1.969),
            (5.0, 3.938),
            (6.0, 7.563),
        ];
        let (_, per_lane) = lanes
            .into_iter()
            .find(|(of, _): &(f64, f64)| (generation - of).abs() < 0.5)?;
        Some(per_lane * self.pcie_width.value()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_run_folder_is_read_with_its_gaps() {
        let line = r#"{"wall_time": 12.5, "host": {"cpu_pct": 81.2, "memory_mb": {"unavailable": "no /proc"}},
            "devices": [{"device": 1, "name": "card", "utilisation_pct": 97, "throttle": ["sw_power_cap"],
            "power_w": {"unavailable": "NVML: not supported"}, "pcie_gen": 4, "pcie_width": 16}]}"#;
        let sample: MachineSample = serde_json::from_str(line).unwrap();
        assert_eq!(sample.host.cpu_pct, Reading::Value(81.2));
        assert_eq!(sample.host.memory_mb.reason(), Some("no /proc"));
        let device = &sample.devices[0];
        assert_eq!(device.utilisation_pct, Reading::Value(97.0));
        assert_eq!(device.throttle.value().unwrap(), &["sw_power_cap"]);
        assert_eq!(device.power_w.reason(), Some("NVML: not supported"));
        assert_eq!(device.clock_mhz.reason(), Some("not recorded"));
        assert!((device.pcie_gb_s().unwrap() - 31.5).abs() < 0.1);
    }

    #[test]
    fn a_link_that_is_not_known_has_no_rate() {
        let mut device = DeviceSample::default();
        assert_eq!(device.pcie_gb_s(), None);
        device.pcie_gen = Reading::Value(9.0);
        device.pcie_width = Reading::Value(16.0);
        assert_eq!(device.pcie_gb_s(), None);
    }
}
