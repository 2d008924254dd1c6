use myxtts_ops::{linear, pointwise_conv, reference, transposed_linear};
use proptest::prelude::*;

use crate::support::{Flat, assert_same, assert_slopes};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn linear_is_its_composition(
        rows in 1..50_usize, inputs in 1..70_usize, outputs in 1..70_usize, biased in any::<bool>(),
    ) {
        let x = Flat::random(&[2, rows, inputs], 1);
        let weight_io = Flat::random(&[inputs, outputs], 2);
        let weight_oi = Flat::random(&[outputs, inputs], 2);
        let bias = biased.then(|| Flat::random(&[outputs], 3));
        let list = |weight: Flat| [Some(x.clone()), Some(weight), bias.clone()].into_iter().flatten().collect::<Vec<_>>();
        let bias = |x: &[Flat]| x.get(2).map(Flat::get);
        let fast = |x: &[Flat]| Flat::of(transposed_linear::<3>(x[0].get(), x[1].get(), bias(x)));
        let slow = |x: &[Flat]| Flat::of(reference::transposed_linear::<3>(x[0].get(), x[1].get(), bias(x)));
        assert_same(&list(weight_io), &fast, &slow, 2e-5);
        let fast = |x: &[Flat]| Flat::of(linear::<3>(x[0].get(), x[1].get(), bias(x)));
        let slow = |x: &[Flat]| Flat::of(reference::linear::<3>(x[0].get(), x[1].get(), bias(x)));
        assert_same(&list(weight_oi), &fast, &slow, 2e-5);
    }

    #[test]
    fn pointwise_conv_is_its_composition(
        batch in 1..4_usize, inputs in 1..40_usize, outputs in 1..40_usize, time in 1..90_usize,
        biased in any::<bool>(),
    ) {
        let mut list = vec![Flat::random(&[batch, inputs, time], 1), Flat::random(&[outputs, inputs, 1], 2)];
        list.extend(biased.then(|| Flat::random(&[outputs], 3)));
        let bias = |x: &[Flat]| x.get(2).map(Flat::get);
        let fast = |x: &[Flat]| Flat::of(pointwise_conv(x[0].get(), x[1].get(), bias(x)));
        let slow = |x: &[Flat]| Flat::of(reference::pointwise_conv(x[0].get(), x[1].get(), bias(x)));
        assert_same(&list, &fast, &slow, 2e-5);
    }
}

#[test]
fn slopes_are_differences() {
    let inputs = [
        Flat::random(&[2, 3], 1),
        Flat::random(&[4, 3], 2),
        Flat::random(&[4], 3),
    ];
    let fast = |x: &[Flat]| Flat::of(linear::<2>(x[0].get(), x[1].get(), Some(x[2].get())));
    assert_slopes(&inputs, &fast, 1e-2);
}
