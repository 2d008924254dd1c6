//! Software GPUs: real Vulkan devices on a machine without a GPU, for tests.
//!
//! They are several logical devices on one software rasteriser, so that every
//! multi-GPU path runs for real. They are slower than the CPU backend, so a user
//! gets them only by asking with `MYXTTS_SOFTWARE_GPUS`.

use burn::tensor::Device;
use burn::tensor::wgpu::{WgpuSetup, wgpu};
use futures_lite::future::block_on;
use myxtts_base::report;
use thiserror::Error;

use crate::discover::wgpu::{GRAPHICS_API, instance};
use crate::machine::{Adapter, Backend, Gpu};
use crate::pinned::pin;

/// The environment variable that says how many software GPUs to offer.
pub const SOFTWARE_GPUS_VARIABLE: &str = "MYXTTS_SOFTWARE_GPUS";

const MOST: u32 = 16;

/// A request for software GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SoftwareGpus {
    count: u32,
}

/// Why software GPUs cannot be offered.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SoftwareGpuError {
    /// The variable does not hold a number in range.
    #[error("{}", report!(
        "{SOFTWARE_GPUS_VARIABLE} takes a whole number from 1 to {MOST}, but this is `{value}`";
        fix: "unset it, unless you are testing without a GPU"
    ))]
    NotACount {
        /// What it holds.
        value: String,
    },
}

impl SoftwareGpus {
    /// Reads the request from the variable's value, if it is set.
    pub fn from_value(value: Option<&str>) -> Result<Option<Self>, SoftwareGpuError> {
        let Some(value) = value else { return Ok(None) };
        match value.trim().parse() {
            Ok(count @ 1..=MOST) => Ok(Some(Self { count })),
            _ => Err(SoftwareGpuError::NotACount {
                value: value.to_owned(),
            }),
        }
    }

    /// Makes the software GPUs of `backend` on the rasteriser that was found.
    pub(crate) fn on(self, backend: Backend, rasteriser: &Gpu) -> Result<Vec<Gpu>, String> {
        if backend != Backend::Wgpu {
            // Kernels handed to a software rasteriser as SPIR-V kill the
            // process inside the driver, where nothing can catch it.
            return Err(format!(
                "software GPUs are offered by the wgpu backend, not by {backend}"
            ));
        }
        if cfg!(feature = "vulkan") {
            return Err(
                "this build compiles kernels to SPIR-V, which crashes software GPUs: \
                        build without `--features vulkan`"
                    .to_owned(),
            );
        }
        Ok((0..self.count)
            .map(|index| Gpu {
                name: format!("{} as software GPU {index}", rasteriser.name),
                adapter: Adapter::Software(index),
                ..rasteriser.clone()
            })
            .collect())
    }
}

/// Opens one more software GPU: a device of its own on the shared rasteriser.
pub(crate) fn open() -> Result<Device, String> {
    let device = Device::wgpu_options()
        .setup(setup()?)
        .init()
        .map_err(|why| why.to_string())?;
    pin(&device);
    Ok(device)
}

/// Makes the driver's objects for one software GPU.
pub(crate) fn setup() -> Result<WgpuSetup, String> {
    let instance = instance();
    let adapter = block_on(instance.enumerate_adapters(GRAPHICS_API))
        .into_iter()
        .find(|adapter| adapter.get_info().device_type == wgpu::DeviceType::Cpu)
        .ok_or("no software rasteriser is installed")?;
    let descriptor = wgpu::DeviceDescriptor {
        required_features: adapter
            .features()
            .difference(wgpu::Features::MAPPABLE_PRIMARY_BUFFERS),
        required_limits: adapter.limits(),
        memory_hints: wgpu::MemoryHints::MemoryUsage,
        ..Default::default()
    };
    let (device, queue) =
        block_on(adapter.request_device(&descriptor)).map_err(|why| why.to_string())?;
    let backend = adapter.get_info().backend;
    Ok(WgpuSetup {
        instance,
        adapter,
        device,
        queue,
        backend,
    })
}
