//! Transforms columns and taps to values at points.
//!
//! Four taps and seven columns give four outputs. As polynomials that takes seven products, one
//! at each point of `0, ±1, ±2, ±1/2`, instead of sixteen: the columns are transformed by the
//! polynomials that are zero at every other point, the taps by their values at the points, and
//! output `i` is the sum of the products times the points to the power of `i`. A point and its
//! negative share the even and the odd half.

use pulp::Simd;

use super::{POINTS, STEP};

/// The points at which the polynomials are evaluated.
const AT: [f64; POINTS] = [0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5];

/// Transforms four taps to the points.
#[expect(
    clippy::cast_possible_truncation,
    reason = "computed in f64 to be rounded once"
)]
pub(super) fn of_taps(taps: [f32; STEP]) -> [f32; POINTS] {
    AT.map(|at| {
        let others = AT.iter().filter(|other| **other != at);
        let norm: f64 = others.map(|other| at - other).product();
        let value = taps
            .iter()
            .rev()
            .fold(0.0, |sum, &tap| sum * at + f64::from(tap));
        (value / norm) as f32
    })
}

/// Transforms seven columns to the points.
#[inline(always)]
pub(super) fn of_columns<S: Simd>(simd: S, x: [S::f32s; POINTS]) -> [S::f32s; POINTS] {
    let [x0, _, x2, _, x4, _, x6] = x;
    // The coefficients are those of `x^6 - 5.25 x^4 + 5.25 x^2 - 1`.
    let middle = simd.sub_f32s(x2, x4);
    let outer = simd.sub_f32s(x6, x0);
    let at_0 = simd.mul_add_e_f32s(simd.splat_f32s(5.25), middle, outer);
    let [even, odd] = halves(simd, -4.25, 1.0, x);
    let (at_1, at_minus_1) = (simd.add_f32s(even, odd), simd.sub_f32s(even, odd));
    let [even, odd] = halves(simd, -1.25, 0.25, x);
    let (at_2, at_minus_2) = both(simd, 2.0, even, odd);
    let [even, odd] = halves(simd, -5.0, 4.0, x);
    let (at_half, at_minus_half) = both(simd, 0.5, even, odd);
    [
        at_0,
        at_1,
        at_minus_1,
        at_2,
        at_minus_2,
        at_half,
        at_minus_half,
    ]
}

/// Applies `x^4 + middle x^2 + low`, once times `x^2` and once times `x`.
#[inline(always)]
fn halves<S: Simd>(simd: S, middle: f32, low: f32, x: [S::f32s; POINTS]) -> [S::f32s; 2] {
    let [_, x1, x2, x3, x4, x5, x6] = x;
    let (middle, low) = (simd.splat_f32s(middle), simd.splat_f32s(low));
    let even = simd.mul_add_e_f32s(low, x2, x6);
    let odd = simd.mul_add_e_f32s(low, x1, x5);
    [
        simd.mul_add_e_f32s(middle, x4, even),
        simd.mul_add_e_f32s(middle, x3, odd),
    ]
}

/// Returns the values at a point and at its negative.
#[inline(always)]
fn both<S: Simd>(simd: S, at: f32, even: S::f32s, odd: S::f32s) -> (S::f32s, S::f32s) {
    (
        simd.mul_add_e_f32s(simd.splat_f32s(at), odd, even),
        simd.mul_add_e_f32s(simd.splat_f32s(-at), odd, even),
    )
}

/// Returns four outputs of the products, each with a bias.
#[inline(always)]
pub(super) fn of_products<S: Simd>(
    simd: S,
    products: [S::f32s; POINTS],
    bias: S::f32s,
) -> [S::f32s; STEP] {
    let [at_0, plus_1, minus_1, plus_2, minus_2, plus_3, minus_3] = products;
    let even_1 = simd.add_f32s(bias, simd.add_f32s(plus_1, minus_1));
    let odd_1 = simd.add_f32s(bias, simd.sub_f32s(plus_1, minus_1));
    let (even_2, odd_2) = (
        simd.add_f32s(plus_2, minus_2),
        simd.sub_f32s(plus_2, minus_2),
    );
    let (even_3, odd_3) = (
        simd.add_f32s(plus_3, minus_3),
        simd.sub_f32s(plus_3, minus_3),
    );
    let first = simd.add_f32s(simd.add_f32s(at_0, even_1), simd.add_f32s(even_2, even_3));
    [
        first,
        powers(simd, odd_1, [2.0, 0.5], [odd_2, odd_3]),
        powers(simd, even_1, [4.0, 0.25], [even_2, even_3]),
        powers(simd, odd_1, [8.0, 0.125], [odd_2, odd_3]),
    ]
}

/// Returns what the points 1, 2 and 1/2 add to an output, by their powers.
#[inline(always)]
fn powers<S: Simd>(simd: S, one: S::f32s, [two, half]: [f32; 2], [a, b]: [S::f32s; 2]) -> S::f32s {
    let sum = simd.mul_add_e_f32s(simd.splat_f32s(two), a, one);
    simd.mul_add_e_f32s(simd.splat_f32s(half), b, sum)
}
