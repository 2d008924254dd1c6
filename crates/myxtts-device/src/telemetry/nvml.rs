//! NVIDIA's management library, loaded at run time.

use myxtts_config::units::Megabytes;
use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::enum_wrappers::device::{Clock, TemperatureSensor};
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, Nvml};

use super::{PcieLink, Readings, Telemetry};
use crate::machine::{Backend, Gpu, GpuKind};

/// A source of readings for NVIDIA cards.
#[derive(Debug)]
pub(super) struct NvmlTelemetry {
    library: Result<Nvml, String>,
}

impl NvmlTelemetry {
    /// Loads the library; without it every reading says why.
    pub(super) fn load() -> Self {
        Self {
            library: Nvml::init().map_err(|why| format!("NVML: {why}")),
        }
    }

    fn device(&self, gpu: &Gpu) -> Result<Device<'_>, String> {
        if gpu.kind == GpuKind::Software || gpu.backend == Backend::Assumed {
            return Err("no card behind this device".to_owned());
        }
        let library = self.library.as_ref().map_err(Clone::clone)?;
        // By address and not by index: CUDA, Vulkan and NVML each number the
        // cards in an order of their own.
        let Some(address) = &gpu.pci_address else {
            return Err("the backend does not report the card's PCI address".to_owned());
        };
        library
            .device_by_pci_bus_id(address.as_str())
            .map_err(|why| format!("NVML: {why}"))
    }
}

impl Telemetry for NvmlTelemetry {
    fn read(&self, gpu: &Gpu) -> Readings {
        match self.device(gpu) {
            Ok(device) => readings(&device),
            Err(why) => Readings::unavailable(&why),
        }
    }
}

fn readings(device: &Device<'_>) -> Readings {
    let watts = |milliwatts: u32| f64::from(milliwatts) / 1000.0;
    Readings {
        busy_percent: device
            .utilization_rates()
            .map(|rates| f64::from(rates.gpu))
            .into(),
        memory_used_mb: device
            .memory_info()
            .map(|memory| Megabytes::from_bytes(memory.used))
            .into(),
        temperature_celsius: device
            .temperature(TemperatureSensor::Gpu)
            .map(f64::from)
            .into(),
        power_watts: device.power_usage().map(watts).into(),
        power_limit_watts: device.enforced_power_limit().map(watts).into(),
        clock_mhz: device.clock_info(Clock::Graphics).map(f64::from).into(),
        clock_max_mhz: device.max_clock_info(Clock::Graphics).map(f64::from).into(),
        throttling: device.current_throttle_reasons().map(throttle_names).into(),
        pcie: pcie(device).into(),
    }
}

fn throttle_names(reasons: ThrottleReasons) -> Vec<String> {
    // An idle card is not a throttled one.
    let reasons = reasons.difference(ThrottleReasons::GPU_IDLE | ThrottleReasons::NONE);
    reasons
        .iter_names()
        .map(|(name, _)| name.to_lowercase())
        .collect()
}

fn pcie(device: &Device<'_>) -> Result<PcieLink, NvmlError> {
    Ok(PcieLink {
        generation: device.current_pcie_link_gen()?,
        width: device.current_pcie_link_width()?,
        max_generation: device.max_pcie_link_gen()?,
        max_width: device.max_pcie_link_width()?,
    })
}
