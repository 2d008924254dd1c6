//! Choosing the kernels of a software GPU without a clock.
//!
//! Where the engine has several kernels for an operation, it times them and keeps
//! the fastest, unless one comes near the device's peak: that one is taken at
//! once. On a software rasteriser the timing takes minutes (each candidate is
//! compiled, and the peaks themselves are measured) and finds nothing better;
//! beside other work it also finds something else every time. So a software GPU
//! is given peaks that any kernel reaches, and the first that works is taken.
//!
//! Convolutions, and reductions fused with what they are broadcast to, have
//! candidates without a peak. Those are still timed, so results that go through
//! them may differ in their last bits from run to run.

use std::time::Duration;

use burn::backend::DispatchDevice;
use burn::tensor::Device;
use cubecl_runtime::throughput::{
    MemoryAccess, MemorySpec, ThroughputKey, ThroughputMode, ThroughputValue, working_set_sweep,
};

/// Longer than any launch takes, so that every kernel counts as being at the peak.
const LAUNCH: Duration = Duration::from_secs(3600);

/// The largest piece of memory a kernel might be judged by, in bytes.
const LARGEST: u64 = 1 << 40;

/// Makes `device` take the first kernel that works.
pub(crate) fn pin(device: &Device) {
    let DispatchDevice::Cube(cube) = device.as_dispatch() else {
        return;
    };
    let client = cube.client();
    let types = client.properties().features.types.elem.keys();
    let compute = types.map(|&dtype| ThroughputMode::ComputeDirect { dtype });
    let memory = [MemoryAccess::Copy, MemoryAccess::Read, MemoryAccess::Write]
        .into_iter()
        .flat_map(|access| {
            let sizes = working_set_sweep(LARGEST).into_iter();
            sizes.map(move |bytes| ThroughputMode::Memory(MemorySpec::new(access, bytes)))
        });
    let modes = compute.chain(memory).chain([ThroughputMode::Launch]);
    for mode in modes {
        let peak = ThroughputValue {
            ops_count: 1,
            duration: LAUNCH,
        };
        // A peak the engine has already measured would stay; nothing was launched
        // on this device before it was opened.
        let _ = client.measure_throughput(ThroughputKey { mode }, || Ok(peak));
    }
}
