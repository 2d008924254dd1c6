use burn::tensor::{Int, Tensor, TensorData};
use myxtts_ops::{CrossEntropy, cross_entropy, recomputed_cross_entropy, reference};
use proptest::prelude::*;

use crate::support::{Flat, assert_same, assert_slopes, device, random, values};

fn targets(classes: Vec<i64>) -> Tensor<1, Int> {
    let rows = classes.len();
    Tensor::from_data(TensorData::new(classes, [rows]), &device())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn cross_entropy_is_its_composition(
        rows in prop::collection::vec(-1..7_i64, 1..80), classes in 7..900_usize, smooth in 0..3_u8,
    ) {
        let inputs = [Flat::random(&[rows.len(), classes], 1)];
        let options = CrossEntropy { label_smoothing: f64::from(smooth) * 0.1 };
        let fast = |x: &[Flat]| Flat::of(cross_entropy(x[0].get(), targets(rows.clone()), options));
        let slow = |x: &[Flat]| Flat::of(reference::cross_entropy(x[0].get(), targets(rows.clone()), options));
        assert_same(&inputs, &fast, &slow, 1e-5);
        let again = |x: &[Flat]| {
            Flat::of(recomputed_cross_entropy(x[0].get(), targets(rows.clone()), options))
        };
        assert_same(&inputs, &again, &slow, 1e-5);
    }
}

#[test]
fn slopes_are_differences() {
    let options = CrossEntropy {
        label_smoothing: 0.1,
    };
    let fast = |x: &[Flat]| Flat::of(cross_entropy(x[0].get(), targets(vec![2, -1, 0]), options));
    assert_slopes(&[Flat::random(&[3, 4], 1)], &fast, 1e-2);
}

#[test]
fn no_row_that_counts_is_no_loss() {
    let logits = random([2, 3], 1).require_grad();
    let loss = cross_entropy(
        logits.clone(),
        targets(vec![-1, -100]),
        CrossEntropy::default(),
    );
    assert_eq!(values(&loss), [0.0]);
    let gradients = loss.backward();
    assert_eq!(values(&logits.grad(&gradients).unwrap()), vec![0.0; 6]);
}

#[test]
fn the_logits_survive_the_way_back() {
    let logits = random([4, 5], 1).require_grad();
    let before = values(&logits);
    let loss = cross_entropy(
        logits.clone(),
        targets(vec![0, 1, 2, 3]),
        CrossEntropy::default(),
    );
    loss.backward();
    assert_eq!(values(&logits), before);
}
