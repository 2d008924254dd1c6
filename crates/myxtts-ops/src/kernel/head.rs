//! The scores of a head, whose weight has a row for each score.

use rayon::prelude::*;

use super::math::{sum2, vectorize};

/// Elements of a weight below which a second thread is not worth it.
const SHARED: usize = 1 << 17;
/// Outputs of a piece of work.
const OUTPUTS: usize = 64;

/// Computes `y = x w^T + b`, with the weight as `(out, in)`.
pub(crate) fn product_of_rows(
    x: &[f32],
    weight_oi: &[f32],
    bias: &[f32],
    y: &mut [f32],
    rows: usize,
) {
    let (inputs, outputs) = (x.len() / rows.max(1), y.len() / rows.max(1));
    assert_eq!(weight_oi.len(), inputs * outputs, "the weight's size");
    for (x, y) in x
        .chunks_exact(inputs.max(1))
        .zip(y.chunks_exact_mut(outputs.max(1)))
    {
        let piece = |(index, y): (usize, &mut [f32])| {
            vectorize(
                #[inline(always)]
                || {
                    for (at, y) in (index * OUTPUTS..).zip(y) {
                        let row = &weight_oi[at * inputs..(at + 1) * inputs];
                        let bias = bias.get(at).copied().unwrap_or(0.0);
                        *y = bias + sum2(x, row, |x, w| x * w);
                    }
                },
            );
        };
        if weight_oi.len() < SHARED {
            y.chunks_mut(OUTPUTS).enumerate().for_each(piece);
        } else {
            y.par_chunks_mut(OUTPUTS).enumerate().for_each(piece);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::registers::numbers;
    use super::*;

    #[test]
    fn scores_are_their_definition() {
        for (rows, inputs, outputs) in [(1, 1, 1), (3, 13, 70), (2, 192, 576), (5, 300, 1030)] {
            let x = numbers(rows * inputs, 1);
            let weight = numbers(inputs * outputs, 2);
            let bias = numbers(outputs, 3);
            let mut scores = vec![f32::NAN; rows * outputs];
            product_of_rows(&x, &weight, &bias, &mut scores, rows);
            for (at, &found) in scores.iter().enumerate() {
                let (r, o) = (at / outputs, at % outputs);
                let pair = |i: usize| x[r * inputs + i] * weight[o * inputs + i];
                let want = bias[o] + (0..inputs).map(pair).sum::<f32>();
                assert!((found - want).abs() < 1e-4, "{rows} x {inputs} x {outputs}");
            }
        }
    }
}
