//! Opening a device the plan names. The only place that touches one.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};

use burn::tensor::Device;
use burn::tensor::wgpu::WgpuBackend;
use thiserror::Error;

use crate::found::{Adapter, Backend, GpuKind};
use crate::plan::PlannedDevice;
use crate::software;

/// A device that was planned and cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "{device} cannot be opened\n  asked: backend {backend}\n  found: {why}\n  \
     fix:   see `myxtts devices`; close programs that hold the GPU, or choose another"
)]
pub struct OpenError {
    /// The device.
    pub device: String,
    /// Its backend.
    pub backend: Backend,
    /// The driver's words.
    pub why: String,
}

/// Devices opened so far. The engine registers a device once and refuses to do
/// it again, so asking for one again gives the same.
static OPENED: Mutex<Vec<(Backend, Adapter, Device)>> = Mutex::new(Vec::new());

/// Opens a device for tensors.
pub fn open(planned: &PlannedDevice) -> Result<Device, OpenError> {
    let refuse = |why: String| OpenError {
        device: format!("{} ({})", planned.label(), planned.name),
        backend: planned.backend,
        why,
    };
    // A poisoned lock means a panic while another device was opened; those
    // opened before it are still good.
    let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    let same = |(backend, adapter, _): &&(Backend, Adapter, Device)| {
        (*backend, *adapter) == (planned.backend, planned.adapter)
    };
    if let Some((_, _, device)) = opened.iter().find(same) {
        return Ok(device.clone());
    }
    crate::memory_fault::watch();
    // The engine's runtimes panic where a driver is missing; here that is an
    // error like any other.
    match catch_unwind(AssertUnwindSafe(|| engine_device(planned))) {
        Ok(result) => {
            let device = result.map_err(refuse)?;
            opened.push((planned.backend, planned.adapter, device.clone()));
            Ok(device)
        }
        Err(panic) => {
            let words = panic.downcast_ref::<String>().cloned();
            let words = words.or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()));
            Err(refuse(
                words.unwrap_or_else(|| "the driver panicked".to_owned()),
            ))
        }
    }
}

fn engine_device(planned: &PlannedDevice) -> Result<Device, String> {
    match (planned.backend, planned.adapter) {
        (Backend::Cpu, _) => Ok(Device::flex()),
        (_, Adapter::Software(_)) => software::open(),
        #[cfg(feature = "cuda")]
        (Backend::Cuda, Adapter::Index(index)) => Ok(Device::cuda(index)),
        #[cfg(feature = "rocm")]
        (Backend::Rocm, Adapter::Index(index)) => Ok(Device::rocm(index)),
        (Backend::Wgpu | Backend::Vulkan | Backend::Metal, Adapter::Kind(kind, index)) => {
            graphics_device(kind, index)
        }
        (Backend::Assumed, _) => Err("an imaginary GPU can be planned for, not used".to_owned()),
        (backend, adapter) => Err(format!("{backend} has no device {adapter:?} in this build")),
    }
}

fn graphics_device(kind: GpuKind, index: u32) -> Result<Device, String> {
    use burn::tensor::DeviceKind;
    let index = usize::try_from(index).map_err(|why| why.to_string())?;
    let kind = match kind {
        GpuKind::Discrete => DeviceKind::DiscreteGpu(index),
        GpuKind::Integrated => DeviceKind::IntegratedGpu(index),
        GpuKind::Virtual => DeviceKind::VirtualGpu(index),
        GpuKind::Software => {
            return Err(
                "a software rasteriser is used only through MYXTTS_SOFTWARE_GPUS".to_owned(),
            );
        }
        GpuKind::Other => {
            return Err("the engine cannot address an adapter of unknown kind".to_owned());
        }
    };
    let api = if cfg!(target_os = "macos") {
        WgpuBackend::Metal
    } else {
        WgpuBackend::Vulkan
    };
    let options = Device::wgpu_options().device_kind(kind).graphics_api(api);
    options.init().map_err(|why| why.to_string())
}
