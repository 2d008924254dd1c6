//! Loops over elements, in parallel pieces.

use rayon::prelude::*;

use super::PIECE;
use super::dropout::{Keep, index};
use super::math::vectorize;
use super::uninit::Uninit;

/// Applies `f` to every element.
pub(crate) fn map(x: &[f32], f: impl Fn(f32) -> f32 + Sync) -> Vec<f32> {
    let mut y = Uninit::new(x.len());
    y.pieces(PIECE).zip(x.par_chunks(PIECE)).for_each(|(y, x)| {
        vectorize(
            #[inline(always)]
            || {
                for (y, &x) in y.iter_mut().zip(x) {
                    *y = f(x);
                }
            },
        );
    });
    y.finish()
}

/// Sets `y = f(y, x)` for every element.
pub(crate) fn update(y: &mut [f32], x: &[f32], f: impl Fn(f32, f32) -> f32 + Sync) {
    y.par_chunks_mut(PIECE)
        .zip(x.par_chunks(PIECE))
        .for_each(|(y, x)| {
            vectorize(
                #[inline(always)]
                || {
                    for (y, &x) in y.iter_mut().zip(x) {
                        *y = f(*y, x);
                    }
                },
            );
        });
}

/// Drops elements of `x` in place.
pub(crate) fn drop(x: &mut [f32], keep: Keep) {
    x.par_chunks_mut(PIECE).enumerate().for_each(|(piece, x)| {
        vectorize(
            #[inline(always)]
            || keep.multiply(index(piece * PIECE), x),
        )
    });
}

/// Returns `x` with elements dropped.
pub(crate) fn dropped(x: &[f32], keep: Keep) -> Vec<f32> {
    let mut y = Uninit::new(x.len());
    y.pieces(PIECE)
        .zip(x.par_chunks(PIECE))
        .enumerate()
        .for_each(|(piece, (y, x))| {
            y.copy_from_slice(x);
            vectorize(
                #[inline(always)]
                || keep.multiply(index(piece * PIECE), y),
            );
        });
    y.finish()
}

/// Drops elements of `x` in place, then adds `y`.
pub(crate) fn drop_add(x: &mut [f32], y: &[f32], keep: Keep) {
    x.par_chunks_mut(PIECE)
        .zip(y.par_chunks(PIECE))
        .enumerate()
        .for_each(|(piece, (x, y))| {
            vectorize(
                #[inline(always)]
                || keep.multiply_add(index(piece * PIECE), x, y),
            );
        });
}
