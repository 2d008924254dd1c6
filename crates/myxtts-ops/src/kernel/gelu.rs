//! GELU in its tanh approximation.
//!
//! `0.5 x (1 + tanh u)` is `x s(2u)` with the logistic function `s`, which
//! takes one exponential and no cancellation.

use super::math::exp;

const SLOPE: f32 = 0.797_884_6;
const CUBIC: f32 = 0.044_715;

#[inline(always)]
fn logistic_of_twice(u: f32) -> f32 {
    1.0 / (1.0 + exp(-2.0 * u))
}

/// Returns GELU at `x`.
#[inline(always)]
pub(crate) fn value(x: f32) -> f32 {
    x * logistic_of_twice(SLOPE * (x + CUBIC * x * x * x))
}

/// Returns the derivative of GELU at `x`.
#[inline(always)]
pub(crate) fn slope(x: f32) -> f32 {
    let s = logistic_of_twice(SLOPE * (x + CUBIC * x * x * x));
    let inner = SLOPE * (1.0 + 3.0 * CUBIC * x * x);
    s + 2.0 * x * s * (1.0 - s) * inner
}
