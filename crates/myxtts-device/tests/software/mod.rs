//! Software GPUs for tests.
//!
//! Where no software rasteriser is installed the tests say that they were
//! skipped; with `REQUIRE_SOFTWARE_GPUS=1`, as in CI, that is a failure.
#![allow(dead_code, reason = "each test binary uses its part")]

use std::io::Write;
use std::sync::OnceLock;

use burn::tensor::Device;
use myxtts_device::discover::{discover, probe};
use myxtts_device::{Backend, Plan, PlanRequest, SoftwareGpus, open, plan};

/// What is planned where `count` software GPUs are offered.
pub fn planned(count: u32, request: &PlanRequest) -> Option<Plan> {
    let offered = SoftwareGpus::from_value(Some(&count.to_string())).unwrap();
    match plan(request, &discover(offered, probe)) {
        Ok(plan) if plan.model_devices[0].backend != Backend::Cpu => Some(plan),
        other => {
            let required = std::env::var_os("REQUIRE_SOFTWARE_GPUS").is_some();
            let why = other.err().map(|error| error.to_string());
            assert!(!required, "a software GPU is required here: {why:?}");
            // Past the test harness, which shows no output of a test that passes.
            let skipped = b"SKIPPED: no software GPU here (Debian: mesa-vulkan-drivers)\n";
            std::io::stderr().write_all(skipped).unwrap();
            None
        }
    }
}

/// The one software GPU of this process, so that its tests share compiled kernels.
pub fn software_gpu() -> Option<Device> {
    static GPU: OnceLock<Option<Device>> = OnceLock::new();
    let open_one = || {
        let plan = planned(1, &PlanRequest::default())?;
        Some(open(&plan.model_devices[0]).unwrap())
    };
    GPU.get_or_init(open_one).clone()
}
