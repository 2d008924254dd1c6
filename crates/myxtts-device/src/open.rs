//! Opening a device that the plan names. Nothing else touches one.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};

use burn::tensor::wgpu::WgpuBackend;
use burn::tensor::{Device, Tensor};
use myxtts_base::report;
use thiserror::Error;

use crate::machine::{Adapter, Backend, GpuKind};
use crate::panics;
use crate::plan::PlannedDevice;
use crate::software;

/// Why a training cannot begin on its devices.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum OpenError {
    /// A planned device cannot be opened, or fails as soon as it is used.
    #[error("{}", report!(
        "{device} cannot be opened";
        asked: "backend {backend}";
        found: "{why}";
        fix: "see `myxtts devices`; close programs that hold the GPU, reinstall its driver, or \
              choose another"
    ))]
    Device {
        /// The label and name of the device.
        device: String,
        /// The backend that reaches it.
        backend: Backend,
        /// What the driver reported.
        why: String,
    },
    /// Kernel fusion cannot be set as the plan has it.
    #[error("{}", report!(
        "kernel fusion cannot be switched {asked}";
        asked: "training.enable_graph_mode {value}";
        found: "{why}";
        fix: "unset that, or set training.enable_graph_mode to agree with it"
    ))]
    Fusion {
        /// The state that was asked for, `on` or `off`.
        asked: &'static str,
        /// The value of the key `training.enable_graph_mode`.
        value: bool,
        /// What set it otherwise.
        why: String,
    },
}

impl OpenError {
    pub(crate) fn fusion(on: bool, why: String) -> Self {
        Self::Fusion {
            asked: if on { "on" } else { "off" },
            value: on,
            why,
        }
    }
}

/// The devices opened so far. The engine refuses to register a device twice, so
/// opening one again returns the same.
static OPENED: Mutex<Vec<(Backend, Adapter, Device)>> = Mutex::new(Vec::new());

/// Opens a device for tensors, and computes a number on it: some drivers are
/// loaded only then, and it is better that they fail here than during training.
pub fn open(planned: &PlannedDevice) -> Result<Device, OpenError> {
    // A poisoned lock means a panic while another device was opened; those
    // opened before it are still good.
    let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    let same = |(backend, adapter, _): &&(Backend, Adapter, Device)| {
        (*backend, *adapter) == (planned.backend, planned.adapter)
    };
    if let Some((_, _, device)) = opened.iter().find(same) {
        return Ok(device.clone());
    }
    let device = checked(|| engine_device(planned)).map_err(|why| OpenError::Device {
        device: format!("{} ({})", planned.label(), planned.name),
        backend: planned.backend,
        why,
    })?;
    opened.push((planned.backend, planned.adapter, device.clone()));
    Ok(device)
}

/// Makes a device and computes on it. The engine's runtimes panic where a driver
/// is missing or fails, on this thread or on their own; here that is an error
/// like any other, and the panic is not printed as well.
fn checked(make: impl FnOnce() -> Result<Device, String>) -> Result<Device, String> {
    panics::watch();
    let quiet = panics::Quiet::new();
    let touched = catch_unwind(AssertUnwindSafe(|| {
        let device = make()?;
        touch(&device).map(|()| device)
    }));
    let said = quiet.finish();
    match touched {
        Ok(Ok(device)) => Ok(device),
        // What a thread of the engine reported is nearer to the cause than what
        // its caller was told.
        Ok(Err(told)) => Err(said.unwrap_or(told)),
        Err(_) => Err(said.unwrap_or_else(|| "the driver panicked".to_owned())),
    }
}

/// Runs one operation and reads its result.
fn touch(device: &Device) -> Result<(), String> {
    let two = Tensor::<1>::ones([1], device) + 1.0;
    let read = two.try_into_data().map_err(|why| first_line(&why))?;
    match read.iter::<f32>().next() {
        Some(2.0) => Ok(()),
        other => Err(format!(
            "1 + 1 is {} there",
            other.map_or("nothing".to_owned(), |x| x.to_string())
        )),
    }
}

/// Returns the first line of an error; those of the engine carry a backtrace below it.
fn first_line(why: &impl ToString) -> String {
    let why = why.to_string();
    why.lines().next().unwrap_or("no reason given").to_owned()
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

#[cfg(all(test, not(feature = "vulkan")))]
mod tests {
    use super::*;

    /// A driver that opens a device and fails as soon as it is used: a real one,
    /// taken away in between.
    #[test]
    fn a_device_that_fails_at_first_touch_is_an_error() {
        let Ok(setup) = software::setup() else {
            let required = std::env::var_os("REQUIRE_SOFTWARE_GPUS").is_some();
            assert!(!required, "software GPUs are required here");
            return;
        };
        setup.device.destroy();
        let lost = checked(|| {
            let options = Device::wgpu_options().setup(setup);
            options.init().map_err(|why| why.to_string())
        });
        let why = lost.unwrap_err();
        assert!(!why.is_empty() && why.lines().count() == 1, "{why}");
        // One that works is opened all the same.
        checked(|| {
            let options = Device::wgpu_options().setup(software::setup()?);
            options.init().map_err(|why| why.to_string())
        })
        .unwrap();
    }

    #[test]
    fn a_panic_of_the_driver_is_its_words() {
        let told = checked(|| panic!("no CUDA-capable device is detected"));
        assert_eq!(told.unwrap_err(), "no CUDA-capable device is detected");
        let told = checked(|| {
            let engine = std::thread::Builder::new().name("DSU-0-0".to_owned());
            let thread = engine.spawn(|| panic!("the driver says 999\n  in a call\n  at 1"));
            let died = thread.map(std::thread::JoinHandle::join);
            Err(format!("a thread was lost: {}", died.is_ok()))
        });
        assert_eq!(told.unwrap_err(), "the driver says 999: in a call");
    }

    #[test]
    fn errors_name_device_cause_and_fix() {
        let device = OpenError::Device {
            device: "GPU 1 (RTX 3060)".to_owned(),
            backend: Backend::Cuda,
            why: "no CUDA-capable device is detected".to_owned(),
        };
        insta::assert_snapshot!(device, @r"
        GPU 1 (RTX 3060) cannot be opened
          asked: backend cuda
          found: no CUDA-capable device is detected
          fix:   see `myxtts devices`; close programs that hold the GPU, reinstall its driver, or choose another
        ");
        let fusion = OpenError::fusion(true, "the engine is set otherwise".to_owned());
        insta::assert_snapshot!(fusion, @r"
        kernel fusion cannot be switched on
          asked: training.enable_graph_mode true
          found: the engine is set otherwise
          fix:   unset that, or set training.enable_graph_mode to agree with it
        ");
    }
}
