//! Software GPUs for tests.
//!
//! Where no software rasteriser is installed the tests say that they were
//! skipped; with `REQUIRE_SOFTWARE_GPUS=1`, as in CI, that is a failure.

use std::io::Write;
use std::process::Command;
use std::sync::OnceLock;

use burn::tensor::Device;
use myxtts_device::discover::{discover, probe};
use myxtts_device::{Plan, PlanRequest, SoftwareGpus, open, plan};

/// The data and the model device of a split plan over two software GPUs. They
/// are opened once in a process, so that its tests share compiled kernels.
pub fn two() -> Option<(Device, Device)> {
    static OPENED: OnceLock<Option<(Device, Device)>> = OnceLock::new();
    let open_both = || {
        let plan = planned()?;
        let data = open(&plan.data_device).unwrap();
        Some((data, open(&plan.model_devices[0]).unwrap()))
    };
    OPENED.get_or_init(open_both).clone()
}

/// Runs an ignored test of this binary in a process of its own, and gives what it printed.
pub fn alone(test: &str, variables: &[(&str, &str)]) -> String {
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "--nocapture", test])
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stdout).into_owned();
    let errors = String::from_utf8_lossy(&child.stderr);
    assert!(child.status.success(), "{said}\n{errors}");
    assert!(said.contains("1 passed"), "{said}");
    said
}

/// The split plan, or a word that there are no software GPUs.
pub fn planned() -> Option<Plan> {
    let offered = SoftwareGpus::from_value(Some("2")).unwrap();
    let mut request = PlanRequest::default();
    request.pipeline.data_gpu = Some(1);
    request.pipeline.model_gpu = Some(0);
    match plan(&request, &discover(offered, probe)) {
        Ok(plan) => Some(plan),
        Err(error) => {
            let required = std::env::var_os("REQUIRE_SOFTWARE_GPUS").is_some();
            assert!(!required, "software GPUs are required here: {error}");
            // Past the test harness, which shows no output of a test that passes.
            let skipped = b"SKIPPED: no software GPU here (Debian: mesa-vulkan-drivers)\n";
            std::io::stderr().write_all(skipped).unwrap();
            None
        }
    }
}
