//! CUDA devices, listed by the driver without making a context on any.
#![expect(unsafe_code, reason = "the driver's C interface")]

use std::ffi::CStr;

use cudarc::driver::{result, sys};
use myxtts_config::units::Megabytes;

use crate::config::Precision;
use crate::machine::{Adapter, Backend, Gpu, GpuKind};
use crate::reading::Reading;

pub(super) fn probe() -> Result<Vec<Gpu>, String> {
    // SAFETY: only checks whether the library can be loaded. Every other call
    // below panics when it cannot, which is why this one comes first.
    if !unsafe { sys::is_culib_present() } {
        return Err("the NVIDIA driver library (libcuda) is not installed".to_owned());
    }
    list().map_err(|why| format!("the NVIDIA driver says {why}"))
}

fn list() -> Result<Vec<Gpu>, result::DriverError> {
    result::init()?;
    (0..result::device::get_count()?).map(describe).collect()
}

fn describe(index: i32) -> Result<Gpu, result::DriverError> {
    let device = result::device::get(index)?;
    // SAFETY: the driver returned `device` a line above.
    let (memory, major) = unsafe {
        let major = sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR;
        (
            result::device::total_mem(device),
            result::device::get_attribute(device, major)?,
        )
    };
    let mut precisions = vec![Precision::F32, Precision::F16];
    if major >= 8 {
        precisions.push(Precision::Bf16);
    }
    let memory = Reading::from(memory);
    Ok(Gpu {
        id: 0,
        backend: Backend::Cuda,
        name: result::device::get_name(device)?,
        kind: GpuKind::Discrete,
        memory: memory.map(|bytes| Megabytes::from_bytes(bytes as u64)),
        driver: driver_version().unwrap_or_else(|| "CUDA, version unknown".to_owned()),
        other_drivers: vec![],
        pci_address: pci_address(device),
        precisions,
        adapter: Adapter::Index(u32::try_from(index).unwrap_or(0)),
    })
}

fn pci_address(device: sys::CUdevice) -> Option<String> {
    let mut buffer = [0_u8; 32];
    let length = i32::try_from(buffer.len()).ok()?;
    // SAFETY: the driver writes at most `length` bytes, NUL included.
    let written = unsafe { sys::cuDeviceGetPCIBusId(buffer.as_mut_ptr().cast(), length, device) };
    written.result().ok()?;
    let address = CStr::from_bytes_until_nul(&buffer).ok()?;
    Some(address.to_string_lossy().to_lowercase())
}

/// Returns the newest CUDA version that the driver supports, as `CUDA 12.8`.
fn driver_version() -> Option<String> {
    let mut version = 0;
    // SAFETY: writes one integer.
    unsafe { sys::cuDriverGetVersion(&raw mut version) }
        .result()
        .ok()?;
    Some(format!("CUDA {}.{}", version / 1000, version % 1000 / 10))
}
