//! Products in f16 on a software GPU, and none in bf16.

use burn::tensor::Device;
use myxtts_ops::Compute;

use crate::fixtures::Part;
use crate::overfit::{start, up_to};
use crate::place;

const STEPS: u64 = 4;

#[test]
fn f16_learns_as_f32_on_the_cpu_and_bf16_is_known_to_be_missing() {
    let Some(gpu) = place::device(Part::Gpt) else {
        return;
    };
    let _alone = place::COUNTED.lock();
    assert!(Compute::F16.runs_on(&gpu));
    assert!(!Compute::Bf16.runs_on(&gpu));
    let (_, half) = up_to(STEPS, start(Compute::F16, &gpu), &gpu);
    let cpu = Device::flex();
    let (_, exact) = up_to(STEPS, start(Compute::F32, &cpu), &cpu);
    assert_ne!(half[0].loss, exact[0].loss);
    for (half, exact) in half.iter().zip(&exact) {
        assert_eq!(half.skipped, None);
        let off = (half.loss - exact.loss).abs() / exact.loss;
        assert!(
            off < 0.005,
            "step {}: {} {}",
            half.step,
            half.loss,
            exact.loss
        );
    }
    assert!(half[3].loss < half[0].loss);
}
