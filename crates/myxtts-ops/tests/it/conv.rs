//! Convolutions beside the engine's.

use myxtts_ops::{Conv, ConvTransposed, conv_transpose1d, conv1d, reference};
use proptest::prelude::*;

use crate::support::{Flat, assert_same, assert_slopes, run};

fn both(list: &[Flat], conv: Conv) {
    let bias = |x: &[Flat]| x.get(2).map(Flat::get);
    let fast = |x: &[Flat]| Flat::of(conv1d(x[0].get(), x[1].get(), bias(x), conv));
    let slow = |x: &[Flat]| Flat::of(reference::conv1d(x[0].get(), x[1].get(), bias(x), conv));
    assert_same(list, &fast, &slow, 2e-5);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_convolution_is_its_composition(
        batch in 1..5_usize, inputs in 1..20_usize, outputs in 1..20_usize, time in 12..200_usize,
        taps in 1..13_usize, dilation in 1..4_usize, padding in 0..20_usize, stride in 1..4_usize,
        biased in any::<bool>(), sloped in any::<bool>(),
    ) {
        let dilation = if stride > 1 { 1 } else { dilation };
        prop_assume!(time + 2 * padding > (taps - 1) * dilation);
        let mut list = vec![
            Flat::random(&[batch, inputs, time], 1),
            Flat::random(&[outputs, inputs, taps], 2),
        ];
        list.extend(biased.then(|| Flat::random(&[outputs], 3)));
        let slope = sloped.then_some(0.1);
        both(&list, Conv { stride, padding, dilation, groups: 1, slope });
    }

    #[test]
    fn groups_of_channels_do_not_hear_each_other(
        batch in 1..4_usize, groups in 1..6_usize, inputs in 1..6_usize, outputs in 1..10_usize,
        time in 12..200_usize, taps in 1..13_usize, padding in 0..20_usize, stride in 1..5_usize,
        biased in any::<bool>(),
    ) {
        prop_assume!(time + 2 * padding > taps);
        let mut list = vec![
            Flat::random(&[batch, groups * inputs, time], 1),
            Flat::random(&[groups * outputs, inputs, taps], 2),
        ];
        list.extend(biased.then(|| Flat::random(&[groups * outputs], 3)));
        both(&list, Conv { stride, padding, dilation: 1, groups, slope: Some(0.1) });
    }

    #[test]
    fn a_transposed_convolution_is_its_composition(
        batch in 1..4_usize, inputs in 1..12_usize, outputs in 1..12_usize, time in 1..40_usize,
        stride in 1..9_usize, more in 0..9_usize, biased in any::<bool>(), sloped in any::<bool>(),
    ) {
        let kernel = stride + more;
        let slope = sloped.then_some(0.1);
        let conv = ConvTransposed { stride, padding: more / 2, slope };
        let mut list = vec![
            Flat::random(&[batch, inputs, time], 1),
            Flat::random(&[inputs, outputs, kernel], 2),
        ];
        list.extend(biased.then(|| Flat::random(&[outputs], 3)));
        let bias = |x: &[Flat]| x.get(2).map(Flat::get);
        let fast = |x: &[Flat]| Flat::of(conv_transpose1d(x[0].get(), x[1].get(), bias(x), conv));
        let slow = |x: &[Flat]| Flat::of(reference::conv_transpose1d(x[0].get(), x[1].get(), bias(x), conv));
        assert_same(&list, &fast, &slow, 2e-5);
    }
}

/// Longer than a piece of work, and a batch of several.
#[test]
fn long_rows_are_summed_whole() {
    let list = [
        Flat::random(&[3, 4, 5000], 1),
        Flat::random(&[9, 4, 11], 2),
        Flat::random(&[9], 3),
    ];
    let conv = Conv {
        stride: 1,
        padding: 25,
        dilation: 5,
        groups: 1,
        slope: Some(0.1),
    };
    // Sums of 15,000 terms: their rounding shows.
    both(&list, conv);
}

#[test]
fn slopes_are_differences() {
    let inputs = [
        Flat::random(&[2, 2, 5], 1),
        Flat::random(&[3, 2, 3], 2),
        Flat::random(&[3], 3),
    ];
    let conv = Conv {
        stride: 1,
        padding: 2,
        dilation: 2,
        groups: 1,
        slope: None,
    };
    let fast = |x: &[Flat]| Flat::of(conv1d(x[0].get(), x[1].get(), Some(x[2].get()), conv));
    assert_slopes(&inputs, &fast, 1e-2);
}

/// The step of 2 leaves a column over at the end, which the engine's own gradient
/// of a grouped weight does not survive.
#[test]
fn slopes_of_groups_are_differences() {
    let inputs = [
        Flat::random(&[2, 4, 8], 1),
        Flat::random(&[4, 2, 3], 2),
        Flat::random(&[4], 3),
    ];
    let conv = Conv {
        stride: 2,
        padding: 1,
        dilation: 1,
        groups: 2,
        slope: None,
    };
    let fast = |x: &[Flat]| Flat::of(conv1d(x[0].get(), x[1].get(), Some(x[2].get()), conv));
    let slow = |x: &[Flat]| {
        Flat::of(reference::conv1d(
            x[0].get(),
            x[1].get(),
            Some(x[2].get()),
            conv,
        ))
    };
    assert_slopes(&inputs, &fast, 1e-2);
    assert_slopes(&inputs, &slow, 1e-2);
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let inputs = [
        Flat::random(&[5, 24, 1500], 1),
        Flat::random(&[24, 24, 7], 2),
        Flat::random(&[24], 3),
    ];
    let conv = Conv {
        stride: 1,
        padding: 9,
        dilation: 3,
        groups: 1,
        slope: Some(0.1),
    };
    let operation = |x: &[Flat]| Flat::of(conv1d(x[0].get(), x[1].get(), Some(x[2].get()), conv));
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build().unwrap().install(|| run(&inputs, &operation))
    };
    let alone = with(1);
    for threads in [2, 3] {
        assert_eq!(with(threads), alone, "{threads} threads");
    }
}
