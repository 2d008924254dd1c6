//! Layer and group normalisation.

use rayon::prelude::*;

use super::math::{sum, sum2, vectorize};
use super::uninit::Uninit;
use super::{add_rows, rows_per_piece};

/// The mean and reciprocal deviation of each normalised row.
pub(crate) type Moments = Vec<[f32; 2]>;

/// The gradients of a norm's input, scale and shift.
#[derive(Debug)]
pub(crate) struct NormGradients {
    pub(crate) x: Vec<f32>,
    pub(crate) weight: Vec<f32>,
    pub(crate) bias: Vec<f32>,
}

#[inline(always)]
fn moments(row: &[f32], epsilon: f32) -> [f32; 2] {
    let count = row.len() as f32;
    let mean = sum(row, |x| x) / count;
    let variance = sum(row, |x| (x - mean) * (x - mean)) / count;
    [mean, 1.0 / (variance + epsilon).sqrt()]
}

/// Normalises rows as wide as `weight`.
pub(crate) fn layer_norm(
    x: &[f32],
    weight: &[f32],
    bias: &[f32],
    epsilon: f32,
) -> (Vec<f32>, Moments) {
    let width = weight.len();
    let rows = rows_per_piece(width);
    let mut y = Uninit::new(x.len());
    let mut kept = vec![[0.0; 2]; x.len() / width];
    y.pieces(rows * width)
        .zip(x.par_chunks(rows * width))
        .zip(kept.par_chunks_mut(rows))
        .for_each(|((y, x), kept)| {
            vectorize(
                #[inline(always)]
                || {
                    let rows = y.chunks_exact_mut(width).zip(x.chunks_exact(width));
                    for ((y, x), kept) in rows.zip(kept) {
                        let [mean, scale] = moments(x, epsilon);
                        *kept = [mean, scale];
                        for (((y, &x), &w), &b) in y.iter_mut().zip(x).zip(weight).zip(bias) {
                            *y = (x - mean) * scale * w + b;
                        }
                    }
                },
            );
        });
    (y.finish(), kept)
}

/// Computes the backward pass; `gradient` is that of the output.
pub(crate) fn layer_norm_backward(
    x: &[f32],
    weight: &[f32],
    kept: &[[f32; 2]],
    gradient: &[f32],
) -> NormGradients {
    let width = weight.len();
    let rows = rows_per_piece(width);
    let mut dx = Uninit::new(x.len());
    let (dw, db): (Vec<_>, Vec<_>) = dx
        .pieces(rows * width)
        .zip(x.par_chunks(rows * width))
        .zip(gradient.par_chunks(rows * width))
        .zip(kept.par_chunks(rows))
        .map(|(((dx, x), g), kept)| {
            let (mut dw, mut db) = (vec![0.0; width], vec![0.0; width]);
            vectorize(
                #[inline(always)]
                || {
                    let rows = dx.chunks_exact_mut(width).zip(x.chunks_exact(width));
                    let rows = rows.zip(g.chunks_exact(width)).zip(kept);
                    for (((dx, x), g), &moments) in rows {
                        layer_norm_row_backward(dx, x, g, weight, moments, &mut dw, &mut db);
                    }
                },
            );
            (dw, db)
        })
        .unzip();
    NormGradients {
        x: dx.finish(),
        weight: add_rows(dw, width),
        bias: add_rows(db, width),
    }
}

#[inline(always)]
fn layer_norm_row_backward(
    dx: &mut [f32],
    x: &[f32],
    g: &[f32],
    weight: &[f32],
    [mean, scale]: [f32; 2],
    dw: &mut [f32],
    db: &mut [f32],
) {
    let count = x.len() as f32;
    // `dx` holds the gradient of the normalised row at first.
    for ((dx, &g), &w) in dx.iter_mut().zip(g).zip(weight) {
        *dx = g * w;
    }
    let average = sum(dx, |d| d) / count;
    let along = sum2(dx, x, |d, x| d * ((x - mean) * scale)) / count;
    let rows = dx.iter_mut().zip(x).zip(g).zip(dw).zip(db);
    for ((((dx, &x), &g), dw), db) in rows {
        let normal = (x - mean) * scale;
        *dw += g * normal;
        *db += g;
        *dx = scale * (*dx - average - normal * along);
    }
}

/// Channels, and how many of them share their moments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Groups {
    pub(crate) channels: usize,
    pub(crate) groups: usize,
    pub(crate) time: usize,
}

impl Groups {
    fn per_group(self) -> usize {
        self.channels / self.groups * self.time
    }
}

/// Normalises groups of channels of `(batch, channels, time)`.
pub(crate) fn group_norm(
    x: &[f32],
    weight: &[f32],
    bias: &[f32],
    shape: Groups,
    epsilon: f32,
) -> (Vec<f32>, Moments) {
    let (per_group, time) = (shape.per_group(), shape.time);
    let mut y = Uninit::new(x.len());
    let mut kept = vec![[0.0; 2]; x.len() / per_group];
    y.pieces(per_group)
        .zip(x.par_chunks(per_group))
        .zip(&mut kept)
        .enumerate()
        .for_each(|(group, ((y, x), kept))| {
            let first = group % shape.groups * (shape.channels / shape.groups);
            vectorize(
                #[inline(always)]
                || {
                    let [mean, scale] = moments(x, epsilon);
                    *kept = [mean, scale];
                    let channels = y.chunks_exact_mut(time).zip(x.chunks_exact(time));
                    for (((y, x), &w), &b) in channels.zip(&weight[first..]).zip(&bias[first..]) {
                        for (y, &x) in y.iter_mut().zip(x) {
                            *y = (x - mean) * scale * w + b;
                        }
                    }
                },
            );
        });
    (y.finish(), kept)
}

/// Computes the backward pass; `gradient` is that of the output.
pub(crate) fn group_norm_backward(
    x: &[f32],
    weight: &[f32],
    kept: &[[f32; 2]],
    shape: Groups,
    gradient: &[f32],
) -> NormGradients {
    let (per_group, time) = (shape.per_group(), shape.time);
    let wide = shape.channels / shape.groups;
    let mut dx = Uninit::new(x.len());
    // Sums over time per batch and channel, of the gradient times the normalised input and of the
    // gradient: from them come the parameters' gradients and the moments of the input's.
    let mut sums = vec![[0.0_f32; 2]; x.len() / time];
    dx.pieces(per_group)
        .zip(x.par_chunks(per_group))
        .zip(gradient.par_chunks(per_group))
        .zip(sums.par_chunks_mut(wide))
        .zip(kept)
        .enumerate()
        .for_each(|(group, ((((dx, x), g), sums), &[mean, scale]))| {
            let first = group % shape.groups * wide;
            let weight = &weight[first..first + wide];
            vectorize(
                #[inline(always)]
                || {
                    let channels = x.chunks_exact(time).zip(g.chunks_exact(time));
                    for ((x, g), sums) in channels.zip(&mut *sums) {
                        let along = sum2(x, g, |x, g| (x - mean) * scale * g);
                        *sums = [along, sum(g, |g| g)];
                    }
                    let (mut along, mut average) = (0.0, 0.0);
                    for (&[a, s], &w) in sums.iter().zip(weight) {
                        along += a * w;
                        average += s * w;
                    }
                    let count = per_group as f32;
                    let (along, average) = (along / count, average / count);
                    let channels = dx.chunks_exact_mut(time).zip(x.chunks_exact(time));
                    for (((dx, x), g), &w) in channels.zip(g.chunks_exact(time)).zip(weight) {
                        for ((dx, &x), &g) in dx.iter_mut().zip(x).zip(g) {
                            *dx = scale * (g * w - average - (x - mean) * scale * along);
                        }
                    }
                },
            );
        });
    let (mut dw, mut db) = (vec![0.0; shape.channels], vec![0.0; shape.channels]);
    for batch in sums.chunks_exact(shape.channels) {
        for ((&[along, plain], dw), db) in batch.iter().zip(&mut dw).zip(&mut db) {
            *dw += along;
            *db += plain;
        }
    }
    NormGradients {
        x: dx.finish(),
        weight: dw,
        bias: db,
    }
}
