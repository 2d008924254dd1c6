//! ROCm devices, listed by the HIP library.
#![expect(unsafe_code, reason = "the library's C interface")]

use std::ffi::CStr;

use cubecl_hip_sys as hip;
use myxtts_config::units::Megabytes;

use crate::config::Precision;
use crate::machine::{Adapter, Backend, Gpu, GpuKind};
use crate::reading::Reading;

pub(super) fn probe() -> Result<Vec<Gpu>, String> {
    // Every call below ends the process when the library is missing.
    if !hip::is_available() {
        return Err("the ROCm libraries (libamdhip64, libhiprtc) are not installed".to_owned());
    }
    let mut count = 0;
    // SAFETY: writes one integer.
    let status = unsafe { hip::hipGetDeviceCount(&raw mut count) };
    if status != hip::HIP_SUCCESS {
        return Err(format!("the ROCm library reports error {status}"));
    }
    Ok((0..count).filter_map(describe).collect())
}

fn describe(index: i32) -> Option<Gpu> {
    let mut properties = std::mem::MaybeUninit::<hip::hipDeviceProp_tR0600>::zeroed();
    // SAFETY: the library fills the whole struct when it reports success, and
    // zeros are valid for all its fields.
    let properties = unsafe {
        let status = hip::hipGetDevicePropertiesR0600(properties.as_mut_ptr(), index);
        (status == hip::HIP_SUCCESS).then(|| properties.assume_init())?
    };
    // SAFETY: a NUL-terminated name inside the struct.
    let name = unsafe { CStr::from_ptr(properties.name.as_ptr()) }
        .to_string_lossy()
        .into_owned();
    let (domain, bus, device) = (
        properties.pciDomainID,
        properties.pciBusID,
        properties.pciDeviceID,
    );
    Some(Gpu {
        id: 0,
        backend: Backend::Rocm,
        name,
        kind: GpuKind::Discrete,
        memory: Reading::Value(Megabytes::from_bytes(properties.totalGlobalMem as u64)),
        driver: "ROCm HIP".to_owned(),
        other_drivers: vec![],
        pci_address: Some(format!("{domain:04x}:{bus:02x}:{device:02x}.0")),
        precisions: vec![Precision::F32, Precision::Bf16, Precision::F16],
        adapter: Adapter::Index(u32::try_from(index).ok()?),
    })
}
