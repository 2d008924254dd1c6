//! Scaled dot-product attention in blocks of queries.
//!
//! Only a block of scores exists at a time. Forward keeps one number per query
//! (the logarithm of its sum of exponentials); backward computes the block's
//! weights again from it. Keys that no query of a block sees are not computed.
//! A head is one piece of work, so that its sums have one order.

use rayon::prelude::*;

use super::dropout::{self, Keep};
use super::gemm::{Matrix, MatrixMut, Old, Threads, multiply};
use super::math::{exp, max, sum2, vectorize};
use super::uninit::Uninit;

/// Queries that are processed at a time: enough to keep a product busy, few enough that a causal
/// mask saves nearly half.
const BLOCK: usize = 64;

/// Added to the score of a hidden key; finite, so that no row becomes NaN.
pub(crate) const HIDDEN: f32 = f32::MIN / 4.0;

/// Replaces the logarithm of the sum over no key, so that every weight comes out 0.
const BLIND: f32 = f32::MAX;

/// The sizes of queries, keys and heads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) batch: usize,
    pub(crate) heads: usize,
    pub(crate) queries: usize,
    pub(crate) keys: usize,
    pub(crate) channels: usize,
}

/// What is computed, apart from the numbers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rule {
    pub(crate) shape: Shape,
    pub(crate) causal: bool,
    /// What is added to the scores, `(batch, keys)`: 0 or [`HIDDEN`].
    pub(crate) hidden_bk: Option<Vec<f32>>,
    pub(crate) scale: f32,
    pub(crate) keep: Option<Keep>,
}

impl Rule {
    /// Returns how many keys, from the first, query `i` may see.
    fn seen(&self, i: usize) -> usize {
        let Shape { queries, keys, .. } = self.shape;
        if self.causal {
            (i + 1 + keys).saturating_sub(queries).min(keys)
        } else {
            keys
        }
    }

    fn hidden(&self, head: usize) -> Option<&[f32]> {
        let keys = self.shape.keys;
        let batch = head / self.shape.heads;
        let rows = self.hidden_bk.as_deref()?;
        Some(&rows[batch * keys..(batch + 1) * keys])
    }

    /// Returns where the draws of query `i` start.
    fn draws(&self, head: usize, i: usize) -> u32 {
        dropout::index((head * self.shape.queries + i) * self.shape.keys)
    }
}

/// Where the heads of a tensor lie in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heads<'a> {
    pub(crate) data: &'a [f32],
    pub(crate) start: usize,
    pub(crate) batch_stride: usize,
    pub(crate) head_stride: usize,
    pub(crate) row_stride: usize,
    pub(crate) column_stride: usize,
}

impl<'a> Heads<'a> {
    /// Finds part `part` of `parts` tensors `(batch, rows, heads * channels)` that lie side by
    /// side.
    pub(crate) fn merged(data: &'a [f32], shape: Shape, part: usize, parts: usize) -> Self {
        let width = shape.heads * shape.channels;
        Self {
            data,
            start: part * width,
            batch_stride: shape.queries * parts * width,
            head_stride: shape.channels,
            row_stride: parts * width,
            column_stride: 1,
        }
    }

    /// Finds the heads of a contiguous `(batch, heads, rows, channels)`.
    pub(crate) fn split(data: &'a [f32], shape: Shape, rows: usize) -> Self {
        Self {
            data,
            start: 0,
            batch_stride: shape.heads * rows * shape.channels,
            head_stride: rows * shape.channels,
            row_stride: shape.channels,
            column_stride: 1,
        }
    }

    fn head(self, shape: Shape, head: usize, rows: usize) -> Matrix<'a> {
        let (batch, head) = (head / shape.heads, head % shape.heads);
        let start = self.start + batch * self.batch_stride + head * self.head_stride;
        Matrix::strided(
            self.data.get(start..).unwrap_or_default(),
            [rows, shape.channels],
            [self.row_stride, self.column_stride],
        )
    }
}

/// Returns the output `(batch, heads, queries, channels)`, and a number per query for the
/// backward pass.
pub(crate) fn forward(
    q: Heads<'_>,
    k: Heads<'_>,
    v: Heads<'_>,
    rule: &Rule,
) -> (Vec<f32>, Vec<f32>) {
    let shape = rule.shape;
    let Shape {
        queries,
        keys,
        channels,
        ..
    } = shape;
    let heads = shape.batch * shape.heads;
    let mut out = Uninit::new(heads * queries * channels);
    let mut log_sums = vec![0.0; heads * queries];
    out.pieces(queries * channels)
        .zip(log_sums.par_chunks_mut(queries.max(1)))
        .with_max_len(1)
        .enumerate()
        .for_each(|(head, (out, log_sums))| {
            let q = q.head(shape, head, queries);
            let k = k.head(shape, head, keys);
            let v = v.head(shape, head, keys);
            forward_head(head, [q, k, v], rule, out, log_sums);
        });
    (out.finish(), log_sums)
}

fn forward_head(
    head: usize,
    [q, k, v]: [Matrix<'_>; 3],
    rule: &Rule,
    out: &mut [f32],
    log_sums: &mut [f32],
) {
    let Shape {
        queries,
        keys,
        channels,
        ..
    } = rule.shape;
    let mut scores = vec![0.0; BLOCK.min(queries) * keys];
    let blocks = out
        .chunks_mut(BLOCK * channels)
        .zip(log_sums.chunks_mut(BLOCK));
    for (block, (out, log_sums)) in blocks.enumerate() {
        let (start, end) = (block * BLOCK, block * BLOCK + log_sums.len());
        let seen = rule.seen(end - 1);
        if seen == 0 {
            log_sums.fill(BLIND);
            continue;
        }
        let scores = &mut scores[..(end - start) * seen];
        let keys_t = k.rows(0, seen).transposed();
        let target = MatrixMut::packed(scores, seen);
        multiply(
            target,
            Old::Replace,
            rule.scale,
            q.rows(start, end),
            keys_t,
            Threads::One,
        );
        let mut shares = [0.0; BLOCK];
        let rows = scores.chunks_exact_mut(seen).zip(log_sums);
        weigh_block(head, rule, (start..end).zip(rows).zip(&mut shares));
        let weights = Matrix::packed(scores, seen);
        let target = MatrixMut::packed(out, channels);
        multiply(
            target,
            Old::Replace,
            1.0,
            weights,
            v.rows(0, seen),
            Threads::One,
        );
        for (row, share) in out.chunks_exact_mut(channels).zip(shares) {
            for x in row {
                *x *= share;
            }
        }
    }
}

/// Turns the scores of a block into weights. For each query there is a row of scores, and places
/// for the logarithm of their sum and for the factor that the weights must still be multiplied
/// with.
#[inline(always)]
fn weigh_block<'a>(
    head: usize,
    rule: &Rule,
    block: impl Iterator<Item = ((usize, (&'a mut [f32], &'a mut f32)), &'a mut f32)>,
) {
    let hidden = rule.hidden(head);
    vectorize(
        #[inline(always)]
        || {
            for ((i, (row, log_sum)), share) in block {
                let (row, future) = row.split_at_mut(rule.seen(i));
                future.fill(0.0);
                (*log_sum, *share) = weigh(row, hidden);
                if let Some(keep) = rule.keep {
                    keep.multiply(rule.draws(head, i), row);
                }
            }
        },
    );
}

/// Turns scores into weights. Returns the logarithm of their sum, and the factor that the weights
/// must still be multiplied with.
#[inline(always)]
fn weigh(row: &mut [f32], hidden: Option<&[f32]>) -> (f32, f32) {
    if let Some(hidden) = hidden {
        for (x, &h) in row.iter_mut().zip(hidden) {
            *x += h;
        }
    }
    let top = max(row);
    if top <= HIDDEN / 2.0 {
        row.fill(0.0);
        return (BLIND, 0.0);
    }
    for x in row.iter_mut() {
        *x = exp(*x - top);
    }
    let total = super::math::sum(row, |x| x);
    (top + total.ln(), 1.0 / total)
}

/// What the forward pass read and made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen<'a> {
    pub(crate) q: Heads<'a>,
    pub(crate) k: Heads<'a>,
    pub(crate) v: Heads<'a>,
    pub(crate) out: Heads<'a>,
    pub(crate) log_sums: &'a [f32],
}

/// Returns the gradients of queries, keys and values, each `(batch, heads, rows, channels)`.
pub(crate) fn backward(seen: Seen<'_>, gradient: Heads<'_>, rule: &Rule) -> [Vec<f32>; 3] {
    let shape = rule.shape;
    let Shape {
        queries,
        keys,
        channels,
        ..
    } = shape;
    let heads = shape.batch * shape.heads;
    if heads * queries * channels == 0 || keys == 0 {
        return [queries, keys, keys].map(|rows| vec![0.0; heads * rows * channels]);
    }
    let [mut dq, mut dk, mut dv] =
        [queries, keys, keys].map(|rows| Uninit::new(heads * rows * channels));
    dq.pieces(queries * channels)
        .zip(dk.pieces(keys * channels))
        .zip(dv.pieces(keys * channels))
        .zip(seen.log_sums.par_chunks(queries))
        .with_max_len(1)
        .enumerate()
        .for_each(|(head, (((dq, dk), dv), log_sums))| {
            let head = Head {
                number: head,
                q: seen.q.head(shape, head, queries),
                k: seen.k.head(shape, head, keys),
                v: seen.v.head(shape, head, keys),
                out: seen.out.head(shape, head, queries),
                gradient: gradient.head(shape, head, queries),
                log_sums,
            };
            head.backward(rule, dq, dk, dv);
        });
    [dq, dk, dv].map(Uninit::finish)
}

struct Head<'a> {
    number: usize,
    q: Matrix<'a>,
    k: Matrix<'a>,
    v: Matrix<'a>,
    out: Matrix<'a>,
    gradient: Matrix<'a>,
    log_sums: &'a [f32],
}

impl Head<'_> {
    fn backward(&self, rule: &Rule, dq: &mut [f32], dk: &mut [f32], dv: &mut [f32]) {
        let Shape {
            queries,
            keys,
            channels,
            ..
        } = rule.shape;
        let mut weights = vec![0.0; BLOCK.min(queries) * keys];
        let mut slopes = weights.clone();
        for (block, dq) in dq.chunks_mut(BLOCK * channels).enumerate() {
            let start = block * BLOCK;
            let end = start + dq.len() / channels;
            let seen = rule.seen(end - 1);
            if seen == 0 {
                continue;
            }
            let (q, g) = (self.q.rows(start, end), self.gradient.rows(start, end));
            let (k, v) = (self.k.rows(0, seen), self.v.rows(0, seen));
            let weights = &mut weights[..(end - start) * seen];
            let slopes = &mut slopes[..(end - start) * seen];
            let target = MatrixMut::packed(weights, seen);
            multiply(
                target,
                Old::Replace,
                rule.scale,
                q,
                k.transposed(),
                Threads::One,
            );
            let target = MatrixMut::packed(slopes, seen);
            multiply(target, Old::Replace, 1.0, g, v.transposed(), Threads::One);
            self.slopes(rule, start, seen, weights, slopes);
            let weights_t = Matrix::packed(weights, seen).transposed();
            let slopes = Matrix::packed(slopes, seen);
            let target = MatrixMut::packed(&mut dv[..seen * channels], channels);
            multiply(target, Old::Add, 1.0, weights_t, g, Threads::One);
            let target = MatrixMut::packed(&mut dk[..seen * channels], channels);
            multiply(target, Old::Add, 1.0, slopes.transposed(), q, Threads::One);
            multiply(
                MatrixMut::packed(dq, channels),
                Old::Replace,
                1.0,
                slopes,
                k,
                Threads::One,
            );
        }
    }

    /// Turns scores into weights, and gradients of the weights into gradients of the scores.
    fn slopes(
        &self,
        rule: &Rule,
        start: usize,
        seen: usize,
        weights: &mut [f32],
        slopes: &mut [f32],
    ) {
        let hidden = rule.hidden(self.number);
        vectorize(
            #[inline(always)]
            || {
                let rows = weights
                    .chunks_exact_mut(seen)
                    .zip(slopes.chunks_exact_mut(seen));
                for (i, (weights, slopes)) in (start..).zip(rows) {
                    let visible = rule.seen(i);
                    let (weights, future_weights) = weights.split_at_mut(visible);
                    let (slopes, future_slopes) = slopes.split_at_mut(visible);
                    future_weights.fill(0.0);
                    future_slopes.fill(0.0);
                    if let Some(hidden) = hidden {
                        for (x, &h) in weights.iter_mut().zip(hidden) {
                            *x += h;
                        }
                    }
                    let log_sum = self.log_sums[i];
                    // The sum of weights times their gradients equals output times its gradient.
                    let average = dot(self.gradient, self.out, i);
                    for x in weights.iter_mut() {
                        *x = exp(*x - log_sum);
                    }
                    match rule.keep {
                        None => {
                            for (&mut w, s) in weights.iter_mut().zip(slopes) {
                                *s = rule.scale * w * (*s - average);
                            }
                        }
                        Some(keep) => {
                            let slope = |w: f32, s: f32, factor: f32| {
                                (w * factor, rule.scale * w * (s * factor - average))
                            };
                            keep.update2(rule.draws(self.number, i), weights, slopes, slope);
                        }
                    }
                }
            },
        );
    }
}

#[inline(always)]
fn dot(a: Matrix<'_>, b: Matrix<'_>, row: usize) -> f32 {
    match (a.row(row), b.row(row)) {
        (Some(a), Some(b)) => sum2(a, b, |a, b| a * b),
        _ => (0..a.shape()[1]).map(|c| a.at(row, c) * b.at(row, c)).sum(),
    }
}

/// Puts `parts` tensors of `(batch, heads, rows, channels)` side by side into one
/// `(batch, rows, parts * heads * channels)`.
pub(crate) fn merge(parts: &[&[f32]], shape: Shape) -> Vec<f32> {
    let Shape {
        heads,
        queries,
        channels,
        ..
    } = shape;
    let width = parts.len() * heads * channels;
    let mut merged = Uninit::new(shape.batch * queries * width);
    let rows = super::rows_per_piece(width);
    merged
        .pieces(rows * width)
        .enumerate()
        .for_each(|(piece, chunk)| {
            for (row, out) in (piece * rows..).zip(chunk.chunks_exact_mut(width)) {
                let (batch, row) = (row / queries, row % queries);
                let targets = out.chunks_exact_mut(heads * channels);
                for (target, part) in targets.zip(parts) {
                    for (head, target) in target.chunks_exact_mut(channels).enumerate() {
                        let from = ((batch * heads + head) * queries + row) * channels;
                        target.copy_from_slice(&part[from..from + channels]);
                    }
                }
            }
        });
    merged.finish()
}
