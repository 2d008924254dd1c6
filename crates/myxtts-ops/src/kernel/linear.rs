//! `x w + b`.

use rayon::prelude::*;

use super::gemm::{Matrix, MatrixMut, Old, Threads, multiply};
use super::math::vectorize;
use super::{add_rows, rows_per_piece};

/// `x w`, plus `bias` unless it is empty.
pub(crate) fn linear(x: Matrix<'_>, weight_io: Matrix<'_>, bias: &[f32]) -> Vec<f32> {
    let [rows, _] = x.shape();
    let [_, outputs] = weight_io.shape();
    let mut y = vec![0.0; rows * outputs];
    let old = if bias.is_empty() {
        Old::Replace
    } else {
        // The product is added to the bias as it leaves the registers.
        y.par_chunks_mut(outputs * rows_per_piece(outputs))
            .for_each(|rows| {
                for row in rows.chunks_exact_mut(outputs) {
                    row.copy_from_slice(bias);
                }
            });
        Old::Add
    };
    multiply(
        MatrixMut::packed(&mut y, outputs),
        old,
        1.0,
        x,
        weight_io,
        Threads::All,
    );
    y
}

/// `a b`.
pub(crate) fn product(a: Matrix<'_>, b: Matrix<'_>) -> Vec<f32> {
    linear(a, b, &[])
}

/// Sums of columns.
pub(crate) fn column_sums(x: &[f32], width: usize) -> Vec<f32> {
    let partials = x
        .par_chunks(width * rows_per_piece(width))
        .map(|rows| {
            let mut total = vec![0.0; width];
            vectorize(
                #[inline(always)]
                || {
                    for row in rows.chunks_exact(width) {
                        for (t, &x) in total.iter_mut().zip(row) {
                            *t += x;
                        }
                    }
                },
            );
            total
        })
        .collect();
    add_rows(partials, width)
}

/// A convolution with one tap: `w x + b` for every `(inputs, time)` of the batch.
pub(crate) fn pointwise(
    x_bit: &[f32],
    weight_oi: Matrix<'_>,
    bias: &[f32],
    time: usize,
) -> Vec<f32> {
    let [outputs, inputs] = weight_oi.shape();
    let batch = x_bit.len() / (inputs * time).max(1);
    let mut y_bot = vec![0.0; batch * outputs * time];
    for (y_ot, x_it) in y_bot
        .chunks_exact_mut((outputs * time).max(1))
        .zip(x_bit.chunks_exact((inputs * time).max(1)))
    {
        let old = if bias.is_empty() {
            Old::Replace
        } else {
            for (row, &b) in y_ot.chunks_exact_mut(time).zip(bias) {
                row.fill(b);
            }
            Old::Add
        };
        let y = MatrixMut::packed(y_ot, time);
        multiply(
            y,
            old,
            1.0,
            weight_oi,
            Matrix::packed(x_it, time),
            Threads::All,
        );
    }
    y_bot
}

/// The gradient of a one-tap convolution's weight.
pub(crate) fn pointwise_weight_gradient(
    x_bit: &[f32],
    gradient_bot: &[f32],
    [outputs, inputs, time]: [usize; 3],
) -> Vec<f32> {
    let mut dw_oi = vec![0.0; outputs * inputs];
    let batches = gradient_bot
        .chunks_exact((outputs * time).max(1))
        .zip(x_bit.chunks_exact((inputs * time).max(1)));
    for (g_ot, x_it) in batches {
        multiply(
            MatrixMut::packed(&mut dw_oi, inputs),
            Old::Add,
            1.0,
            Matrix::packed(g_ot, time),
            Matrix::packed(x_it, time).transposed(),
            Threads::All,
        );
    }
    dw_oi
}

/// Sums over batch and time, per channel.
pub(crate) fn channel_sums(x_bct: &[f32], channels: usize, time: usize) -> Vec<f32> {
    let sums: Vec<f32> = x_bct
        .par_chunks(time.max(1))
        .with_min_len(rows_per_piece(time))
        .map(|row| {
            vectorize(
                #[inline(always)]
                || super::math::sum(row, |x| x),
            )
        })
        .collect();
    let mut total = vec![0.0; channels];
    for batch in sums.chunks_exact(channels.max(1)) {
        for (t, s) in total.iter_mut().zip(batch) {
            *t += s;
        }
    }
    total
}
