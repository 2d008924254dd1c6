use burn::tensor::Tensor;
use myxtts_ops::{gelu_tanh, group_norm, layer_norm, reference};
use proptest::prelude::*;

use crate::support::{Flat, assert_close, assert_same, assert_slopes, device, values};

fn layer_inputs(rows: usize, width: usize) -> [Flat; 3] {
    [
        Flat::random(&[rows, width], 1),
        Flat::random(&[width], 2),
        Flat::random(&[width], 3),
    ]
}

fn fast_layer(x: &[Flat]) -> Flat {
    Flat::of(layer_norm::<2>(x[0].get(), x[1].get(), x[2].get(), 1e-5))
}

fn plain_layer(x: &[Flat]) -> Flat {
    Flat::of(reference::layer_norm::<2>(
        x[0].get(),
        x[1].get(),
        x[2].get(),
        1e-5,
    ))
}

fn group_inputs(batch: usize, channels: usize, time: usize) -> [Flat; 3] {
    [
        Flat::random(&[batch, channels, time], 1),
        Flat::random(&[channels], 2),
        Flat::random(&[channels], 3),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn layer_norm_is_its_composition(rows in 1..90_usize, width in 2..600_usize) {
        assert_same(&layer_inputs(rows, width), &fast_layer, &plain_layer, 2e-5);
    }

    #[test]
    fn group_norm_is_its_composition(
        batch in 1..4_usize, groups in 1..5_usize, wide in 1..5_usize, time in 2..300_usize,
    ) {
        let fast = |x: &[Flat]| Flat::of(group_norm(x[0].get(), x[1].get(), x[2].get(), groups, 1e-5));
        let plain =
            |x: &[Flat]| Flat::of(reference::group_norm(x[0].get(), x[1].get(), x[2].get(), groups, 1e-5));
        assert_same(&group_inputs(batch, groups * wide, time), &fast, &plain, 2e-5);
    }

    #[test]
    fn gelu_is_its_composition(count in 1..70_000_usize) {
        let fast = |x: &[Flat]| Flat::of(gelu_tanh::<1>(x[0].get()));
        let plain = |x: &[Flat]| Flat::of(reference::gelu_tanh::<1>(x[0].get()));
        assert_same(&[Flat::random(&[count], 1)], &fast, &plain, 2e-6);
    }
}

#[test]
fn slopes_are_differences() {
    assert_slopes(&layer_inputs(3, 5), &fast_layer, 1e-2);
    let fast = |x: &[Flat]| Flat::of(group_norm(x[0].get(), x[1].get(), x[2].get(), 2, 1e-5));
    assert_slopes(&group_inputs(2, 4, 3), &fast, 1e-2);
    let fast = |x: &[Flat]| Flat::of(gelu_tanh::<1>(x[0].get()));
    assert_slopes(&[Flat::random(&[20], 1)], &fast, 1e-2);
}

#[test]
fn gelu_far_out_is_the_input_or_nothing() {
    let x = Tensor::<1>::from_floats([-1e4, -30.0, 0.0, 30.0, 1e4], &device());
    assert_close(
        "gelu",
        &values(&gelu_tanh(x)),
        &[0.0, 0.0, 0.0, 30.0, 1e4],
        1e-30,
    );
}

#[test]
fn a_row_without_spread_is_the_shift() {
    let x = Tensor::<2>::full([2, 8], 3.0, &device());
    let weight = Tensor::<1>::full([8], 2.0, &device());
    let bias = Tensor::<1>::full([8], 0.25, &device());
    assert_eq!(values(&layer_norm(x, weight, bias, 1e-5)), vec![0.25; 16]);
}

#[test]
fn a_transposed_input_is_read_in_its_own_order() {
    let inputs = [
        Flat::random(&[6, 9], 1),
        Flat::random(&[6], 2),
        Flat::random(&[6], 3),
    ];
    let fast = |x: &[Flat]| {
        Flat::of(layer_norm(
            x[0].get::<2>().transpose(),
            x[1].get(),
            x[2].get(),
            1e-5,
        ))
    };
    let plain = |x: &[Flat]| {
        Flat::of(reference::layer_norm(
            x[0].get::<2>().transpose(),
            x[1].get(),
            x[2].get(),
            1e-5,
        ))
    };
    assert_same(&inputs, &fast, &plain, 2e-5);
}
