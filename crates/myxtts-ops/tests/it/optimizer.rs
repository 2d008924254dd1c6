use burn::tensor::Tensor;
use myxtts_ops::{AdamW, Moments, adamw_step, reference, sum_of_squares};

use crate::support::{assert_close, random, values};

fn steps(
    step: impl Fn(Tensor<2>, Tensor<2>, Moments<2>, &AdamW) -> (Tensor<2>, Moments<2>),
) -> [Vec<f32>; 3] {
    let mut parameter = random([37, 501], 1).inner();
    let mut moments = Moments::zeros_like(&parameter);
    for number in 1..=4_u64 {
        let gradient = random([37, 501], 10 + number).inner();
        let with = AdamW {
            learning_rate: 1e-2,
            betas: [0.9, 0.96],
            epsilon: 1e-8,
            weight_decay: 0.01,
            gradient_scale: 0.5,
            step: number,
        };
        (parameter, moments) = step(parameter, gradient, moments, &with);
    }
    [
        values(&parameter),
        values(&moments.first),
        values(&moments.second),
    ]
}

#[test]
fn adamw_is_its_composition() {
    let (fast, slow) = (steps(adamw_step::<2>), steps(reference::adamw_step::<2>));
    for (fast, slow) in fast.iter().zip(&slow) {
        assert_close("adamw", fast, slow, 1e-6);
    }
}

#[test]
fn a_snapshot_of_the_weights_does_not_move() {
    let parameter = random([100], 1).inner();
    let (kept, before) = (parameter.clone(), values(&parameter));
    let with = AdamW {
        learning_rate: 0.1,
        betas: [0.9, 0.99],
        epsilon: 1e-8,
        weight_decay: 0.0,
        gradient_scale: 1.0,
        step: 1,
    };
    let moments = Moments::zeros_like(&parameter);
    let (moved, _) = adamw_step(parameter, random([100], 2).inner(), moments, &with);
    assert_eq!(values(&kept), before);
    assert_ne!(values(&moved), before);
}

#[test]
fn sum_of_squares_is_its_composition() {
    let x = random([100_003], 1).inner();
    let (fast, slow) = (sum_of_squares(x.clone()), reference::sum_of_squares(x));
    let (fast, slow) = (values(&fast)[0], values(&slow)[0]);
    assert!((fast - slow).abs() < 1e-4 * slow, "{fast} {slow}");
}
