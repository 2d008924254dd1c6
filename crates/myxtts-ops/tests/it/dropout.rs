use burn::tensor::Tensor;
use myxtts_ops::{Dropout, dropout, dropout_add, reference};
use proptest::prelude::*;

use crate::support::{Flat, assert_same, device, random, values};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn the_engines_integers_drop_the_same(
        count in 1..40_000_usize, key in any::<u64>(), percent in 0..100_u8,
    ) {
        let drop = Dropout { probability: f64::from(percent) / 100.0, key, first_row: 0 };
        let inputs = [Flat::random(&[count], 1)];
        let fast = |x: &[Flat]| Flat::of(dropout::<1>(x[0].get(), &drop));
        let plain = |x: &[Flat]| Flat::of(reference::dropout::<1>(x[0].get(), &drop));
        assert_same(&inputs, &fast, &plain, 1e-6);
    }

    #[test]
    fn dropout_add_is_its_composition(rows in 1..60_usize, width in 1..400_usize, key in any::<u64>()) {
        let drop = Dropout { probability: 0.1, key, first_row: 0 };
        let inputs = [Flat::random(&[rows, width], 1), Flat::random(&[rows, width], 2)];
        for drop in [None, Some(&drop)] {
            let fast = |x: &[Flat]| Flat::of(dropout_add::<2>(x[0].get(), x[1].get(), drop));
            let plain = |x: &[Flat]| Flat::of(reference::dropout_add::<2>(x[0].get(), x[1].get(), drop));
            assert_same(&inputs, &fast, &plain, 1e-6);
        }
    }
}

#[test]
fn what_somebody_else_holds_is_left_alone() {
    let x = random([1000], 1);
    let before = values(&x);
    let drop = Dropout {
        probability: 0.5,
        key: 1,
        first_row: 0,
    };
    let dropped = dropout(x.clone(), &drop);
    assert_ne!(values(&dropped), before);
    assert_eq!(values(&x), before);
    let sum = dropout_add(x.clone(), x.clone(), Some(&drop));
    assert_ne!(values(&sum), before);
    assert_eq!(values(&x), before);
}

#[test]
fn the_draw_is_a_function_of_the_key() {
    let ones = Tensor::<1>::ones([64], &device());
    let draw = |key| {
        let drop = Dropout {
            probability: 0.25,
            key,
            first_row: 0,
        };
        let kept = values(&dropout(ones.clone(), &drop));
        kept.iter()
            .map(|&x| if x > 0.0 { '1' } else { '.' })
            .collect::<String>()
    };
    // Written down: a change here would make resumed runs differ.
    insta::assert_snapshot!(format!("{}\n{}", draw(0), draw(1)));
}

#[test]
fn a_piece_of_a_batch_drops_what_the_whole_would() {
    let (x, residual) = (random([6, 5, 7], 1), random([6, 5, 7], 2));
    let from = |first_row| Dropout {
        probability: 0.4,
        key: 9,
        first_row,
    };
    let rows = |x: &Tensor<3>| x.clone().narrow(0, 2, 3);
    type Way = fn(Tensor<3>, Tensor<3>, &Dropout) -> Tensor<3>;
    let ways: [Way; 3] = [
        |x, _, drop| dropout(x, drop),
        |x, _, drop| reference::dropout(x, drop),
        |x, residual, drop| dropout_add(x, residual, Some(drop)),
    ];
    for way in ways {
        let whole = way(x.clone(), residual.clone(), &from(0));
        let piece = way(rows(&x), rows(&residual), &from(2));
        assert_eq!(values(&piece), values(&rows(&whole)));
    }
}
