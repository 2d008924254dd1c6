//! One step of AdamW over one parameter.

use rayon::prelude::*;

use super::PIECE;
use super::math::{sum, vectorize};

/// The settings of a step, with all factors folded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Step {
    pub(crate) beta1: f32,
    pub(crate) beta2: f32,
    pub(crate) epsilon: f32,
    /// The learning rate divided by the first moment's correction.
    pub(crate) rate: f32,
    /// The share of the parameter that weight decay leaves.
    pub(crate) keep: f32,
    /// One over the root of the second moment's correction.
    pub(crate) second: f32,
    /// The factor that the gradient is multiplied with first.
    pub(crate) gradient: f32,
}

/// Updates the parameter and both moments.
pub(crate) fn step(
    parameter: &mut [f32],
    gradient: &[f32],
    first: &mut [f32],
    second: &mut [f32],
    with: Step,
) {
    parameter
        .par_chunks_mut(PIECE)
        .zip(gradient.par_chunks(PIECE))
        .zip(first.par_chunks_mut(PIECE))
        .zip(second.par_chunks_mut(PIECE))
        .for_each(|(((p, g), m), v)| {
            vectorize(
                #[inline(always)]
                || {
                    for (((p, &g), m), v) in p.iter_mut().zip(g).zip(m).zip(v) {
                        let g = g * with.gradient;
                        *m = with.beta1 * *m + (1.0 - with.beta1) * g;
                        *v = with.beta2 * *v + (1.0 - with.beta2) * g * g;
                        *p = *p * with.keep
                            - with.rate * *m / (v.sqrt() * with.second + with.epsilon);
                    }
                },
            );
        });
}

/// Returns the sum of squares, added over pieces in double precision.
pub(crate) fn sum_of_squares(x: &[f32]) -> f64 {
    let pieces: Vec<f32> = x
        .par_chunks(PIECE)
        .map(|x| {
            vectorize(
                #[inline(always)]
                || sum(x, |x| x * x),
            )
        })
        .collect();
    pieces.into_iter().map(f64::from).sum()
}
