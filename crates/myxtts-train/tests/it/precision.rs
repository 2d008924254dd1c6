//! Training with products in half precision.

use burn::tensor::Device;
use myxtts_model::params::StateDict;
use myxtts_ops::Compute;
use myxtts_train::objective::Objective;
use myxtts_train::train_loop::{LossScale, StepReport};

use crate::overfit::{start, up_to};

/// Enough to know the clips by heart.
const STEPS: u64 = 100;

fn trained(compute: Compute) -> (Vec<StepReport>, StateDict) {
    let device = Device::flex();
    let (state, steps) = up_to(STEPS, start(compute, &device), &device);
    (steps, state.objective.state().unwrap())
}

#[test]
fn half_precision_learns_as_f32_does() {
    let [(exact, _), (bf16, _), (f16, weights)] =
        [Compute::F32, Compute::Bf16, Compute::F16].map(trained);
    for step in (0..exact.len()).step_by(5).chain([exact.len() - 1]) {
        let [exact, bf16, f16] = [&exact, &bf16, &f16].map(|steps| steps[step].loss);
        println!(
            "step {}: f32 {exact:.4}, bf16 {bf16:.4}, f16 {f16:.4}",
            step + 1
        );
    }
    assert!(exact[0].loss > 4.0, "nothing is known at first");
    // While the clips are half learnt, 2 % of the loss means something; when
    // they are known by heart, 2 % of nothing does not.
    let half_learnt = exact.iter().position(|step| step.loss < 1.0).unwrap();
    assert!(exact[half_learnt].loss > 0.5);
    for steps in [&bf16, &f16] {
        let off = |step: usize| (steps[step].loss - exact[step].loss).abs();
        let share = off(half_learnt) / exact[half_learnt].loss;
        assert!(share < 0.02, "{share} off at step {}", half_learnt + 1);
        assert!(off(exact.len() - 1) < 0.02);
        // The same number would say that nothing was rounded.
        assert_ne!(steps[0].loss, exact[0].loss);
        assert!((steps[0].loss - exact[0].loss).abs() < 0.01);
    }
    let master = weights.values().all(|data| data.as_slice::<f32>().is_ok());
    assert!(master, "weights stay f32");
}

/// With the largest scale there is, gradients of the first steps overflow f16.
#[test]
fn an_overflow_leaves_the_step_out_and_halves_the_scale() {
    let device = Device::flex();
    let mut state = start(Compute::F16, &device);
    state.scale = serde_json::from_str(r#"{"factor": 16777216.0, "good": 0}"#).unwrap();
    let before = state.objective.state().unwrap();
    let (state, steps) = up_to(1, state, &device);
    insta::assert_snapshot!(steps[0].skipped.clone().unwrap(), @"the gradient overflowed half precision; the loss is now scaled by 8388608");
    assert!(steps[0].loss.is_finite(), "only the gradient overflowed");
    assert_eq!(state.scale.factor(), 8_388_608.0);
    assert_eq!(state.objective.state().unwrap(), before);
    let (state, steps) = up_to(30, state, &device);
    let taken = steps.iter().filter(|step| step.skipped.is_none());
    assert!(taken.count() >= 20, "it goes on at a smaller scale");
    assert!(state.scale.factor() < 8_388_608.0);
    assert!(steps.last().unwrap().loss < steps[0].loss - 0.5);
}

#[test]
fn only_f16_scales_its_loss() {
    let factor = |compute| LossScale::of(compute).factor();
    let factors = [Compute::F32, Compute::Bf16, Compute::F16].map(factor);
    assert_eq!(factors, [1.0, 1.0, 65_536.0]);
}
