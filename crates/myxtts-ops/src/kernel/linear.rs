//! `x w + b`.

use rayon::prelude::*;

use super::gemm::{Matrix, MatrixMut, Old, Threads, multiply, product};
use super::math::vectorize;
use super::uninit::Uninit;
use super::{add_rows, rows_per_piece};

/// Computes `x w`, plus `bias` unless it is empty.
pub(crate) fn linear(x: Matrix<'_>, weight_io: Matrix<'_>, bias: &[f32]) -> Vec<f32> {
    if bias.is_empty() {
        return product(x, weight_io);
    }
    let [rows, _] = x.shape();
    let outputs = bias.len();
    let mut y = Uninit::new(rows * outputs);
    // The product is added to the bias as it leaves the registers.
    y.pieces(outputs * rows_per_piece(outputs))
        .for_each(|rows| {
            for row in rows.chunks_exact_mut(outputs) {
                row.copy_from_slice(bias);
            }
        });
    let mut y = y.finish();
    let sum = MatrixMut::packed(&mut y, outputs);
    multiply(sum, Old::Add, 1.0, x, weight_io, Threads::All);
    y
}

/// Returns the sum of each column.
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

/// Batches of fewer items give all cores to each item's product in turn.
const SHARED_BATCH: usize = 4;

/// Applies a convolution with one tap: `w x + b` for every `(inputs, time)` of the batch.
pub(crate) fn pointwise(
    x_bit: &[f32],
    weight_oi: Matrix<'_>,
    bias: &[f32],
    time: usize,
) -> Vec<f32> {
    let [outputs, inputs] = weight_oi.shape();
    let [in_size, out_size] = [inputs, outputs].map(|channels| (channels * time).max(1));
    let batch = x_bit.len() / in_size;
    let convolve = |x_it: &[f32], y_ot: &mut [f32], threads: Threads| {
        for (row, &b) in y_ot.chunks_exact_mut(time.max(1)).zip(bias) {
            row.fill(b);
        }
        let (y, x) = (MatrixMut::packed(y_ot, time), Matrix::packed(x_it, time));
        multiply(y, Old::Add, 1.0, weight_oi, x, threads);
    };
    let mut y_bot = Uninit::new(batch * outputs * time);
    let items = y_bot.pieces(out_size).zip(x_bit.par_chunks_exact(in_size));
    if batch < SHARED_BATCH {
        items
            .with_min_len(batch.max(1))
            .for_each(|(y_ot, x_it)| convolve(x_it, y_ot, Threads::All));
    } else {
        items.for_each(|(y_ot, x_it)| convolve(x_it, y_ot, Threads::One));
    }
    y_bot.finish()
}

/// Computes the gradient of a one-tap convolution's weight.
pub(crate) fn pointwise_weight_gradient(
    x_bit: &[f32],
    gradient_bot: &[f32],
    [outputs, inputs, time]: [usize; 3],
) -> Vec<f32> {
    let [in_size, out_size] = [inputs, outputs].map(|channels| (channels * time).max(1));
    let threads = if x_bit.len() / in_size < SHARED_BATCH {
        Threads::All
    } else {
        Threads::One
    };
    let partials = gradient_bot
        .par_chunks(SHARED_BATCH * out_size)
        .zip(x_bit.par_chunks(SHARED_BATCH * in_size))
        .map(|(g_bot, x_bit)| {
            let mut dw_oi = vec![0.0; outputs * inputs];
            for (g_ot, x_it) in g_bot
                .chunks_exact(out_size)
                .zip(x_bit.chunks_exact(in_size))
            {
                let sum = MatrixMut::packed(&mut dw_oi, inputs);
                let (g, x) = (Matrix::packed(g_ot, time), Matrix::packed(x_it, time));
                multiply(sum, Old::Add, 1.0, g, x.transposed(), threads);
            }
            dw_oi
        })
        .collect();
    add_rows(partials, outputs * inputs)
}

/// Returns the sums over batch and time, per channel.
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
