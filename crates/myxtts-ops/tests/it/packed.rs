use burn::tensor::{Tensor, TensorData};
use myxtts_ops::{Curve, Packed, Rounding};

use crate::support::device;

const CURVES: [Curve; 2] = [Curve::Signed, Curve::Positive];

/// Numbers over many orders of magnitude, more than one block of them and not a whole number of
/// blocks.
fn numbers(curve: Curve) -> Vec<f32> {
    let number = |i: i32| {
        let sign = if curve == Curve::Signed && i % 3 == 0 {
            -1.0
        } else {
            1.0
        };
        sign * 10_f32.powf(-4.0 * (i * 37 % 600) as f32 / 600.0)
    };
    (0..600).map(number).collect()
}

fn values(x_n: Tensor<1>) -> Vec<f32> {
    x_n.into_data().iter().collect()
}

fn packed(x: &[f32], curve: Curve, rounding: Rounding) -> Packed {
    Packed::pack(
        Tensor::from_data(TensorData::from(x), &device().inner()),
        curve,
        rounding,
    )
}

#[test]
fn numbers_come_back_within_a_code() {
    for curve in CURVES {
        let x = numbers(curve);
        let back = values(packed(&x, curve, Rounding::Nearest).unpack());
        assert_eq!(back.len(), x.len());
        for (x, back) in x.iter().zip(back) {
            // Half a code of the root, at the magnitude of the number in its block.
            let step = match curve {
                Curve::Signed => 1.1 / 127.0 * x.abs().sqrt() + 1e-4,
                Curve::Positive => 2.2 / 255.0 * x.powf(0.75) + 1e-8,
            };
            assert!(
                (x - back).abs() <= step,
                "{curve:?}: {x} came back as {back}"
            );
        }
    }
}

#[test]
fn what_was_packed_is_packed_to_the_same_bits() {
    for curve in CURVES {
        let x = numbers(curve);
        let once = values(packed(&x, curve, Rounding::Drawn(9)).unpack());
        let twice = values(packed(&once, curve, Rounding::Nearest).unpack());
        assert_eq!(once, twice);
    }
}

/// A moment that loses less than half a code a step.
#[test]
fn drawn_codes_follow_a_slow_decay_and_the_nearest_do_not() {
    let decayed = |curve: Curve, rounding: &dyn Fn(u64) -> Rounding| {
        // The first of each block sets its scale, and stays.
        let mut x = vec![1e-3_f32; 512];
        for step in 0..100 {
            for x in &mut x {
                *x *= 0.99;
            }
            (x[0], x[256]) = (1.0, 1.0);
            x = values(packed(&x, curve, rounding(step)).unpack());
        }
        x[1..256].iter().sum::<f32>() / 255.0
    };
    let expected = 1e-3 * 0.99_f32.powi(100);
    for curve in CURVES {
        let drawn = decayed(curve, &Rounding::Drawn);
        assert!(
            (drawn / expected - 1.0).abs() < 0.25,
            "{curve:?}: {drawn} and not {expected}"
        );
    }
    let nearest = decayed(Curve::Positive, &|_| Rounding::Nearest);
    assert!(nearest > 2.0 * expected, "{nearest}");
}

#[test]
fn a_mean_of_squares_that_is_not_zero_stays_so_and_zeros_stay_zeros() {
    let mut x = vec![0.0_f32; 300];
    (x[0], x[1], x[299]) = (1.0, 1e-30, 1e-12);
    for rounding in [Rounding::Nearest, Rounding::Drawn(1)] {
        let back = values(packed(&x, Curve::Positive, rounding).unpack());
        assert!(back[1] > 0.0 && back[299] > 0.0);
        assert!(back[2..256].iter().all(|&x| x == 0.0));
        let signed = values(packed(&[0.0; 5], Curve::Signed, rounding).unpack());
        assert_eq!(signed, [0.0; 5]);
    }
}
