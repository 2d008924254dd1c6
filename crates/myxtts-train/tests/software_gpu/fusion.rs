//! Kernel fusion, on and off, by what is launched.
//!
//! The engine reads its switch once in a process, so each is a process of its own.

use burn::tensor::Tensor;
use myxtts_device::discover::{discover, probe};
use myxtts_device::{KernelWatch, PlanRequest, SoftwareGpus, plan};
use myxtts_train::placement::Placement;

use crate::software;

const VARIABLE: &str = "FUSION_TEST_GRAPH_MODE";

#[test]
fn graph_mode_fuses_kernels_and_eager_launches_every_operation() {
    if software::planned().is_none() {
        return;
    }
    let [fused, eager] = [true, false].map(kernels);
    // A sum, a product, an exponential and a square: one kernel, or each its own.
    assert!(
        fused >= 1 && eager >= fused + 2,
        "{fused} fused, {eager} eager"
    );
}

/// Kernels that a process with this setting launches.
fn kernels(graph_mode: bool) -> usize {
    let said = software::alone("fusion::child", &[(VARIABLE, &graph_mode.to_string())]);
    let count = said.split("kernels: ").nth(1).unwrap();
    count.lines().next().unwrap().parse().unwrap()
}

#[test]
#[ignore = "run by the test above, in processes of its own"]
fn child() {
    let Ok(graph_mode) = std::env::var(VARIABLE) else {
        return;
    };
    let mut request = PlanRequest::default();
    request.strategy.enable_graph_mode = graph_mode.parse().unwrap();
    let machine = discover(SoftwareGpus::from_value(Some("1")).unwrap(), probe);
    let plan = plan(&request, &machine).unwrap();
    assert_eq!(plan.graph_mode, Some(request.strategy.enable_graph_mode));
    let device = Placement::of(&plan).unwrap().models.remove(0);
    let x = Tensor::<1>::from_data([0.5_f32, -1.0, 2.0].as_slice(), &device);
    x.to_data();
    let watch = KernelWatch::warm_up();
    let y = ((x + 1.0) * 0.25).exp().square();
    let y: Vec<f32> = y.into_data().iter().collect();
    let [launched, _] = watch.finish();
    println!("kernels: {launched}");
    for (y, x) in y.iter().zip([0.5_f32, -1.0, 2.0]) {
        assert!((y - ((x + 1.0) / 2.0).exp()).abs() < 1e-5, "{y}");
    }
}
