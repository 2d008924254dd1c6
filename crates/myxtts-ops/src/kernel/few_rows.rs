//! Linear layers of a few rows.
//!
//! A generation's step has one row per voice that speaks, and spends its time
//! waiting for weights. So a weight is read once, from front to back, for all
//! rows, by as many threads as its size is worth; nothing is packed.

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use super::math::{sum2, vectorize};

/// Rows of the weight that are read beside each other.
const DEPTH: usize = 8;
/// Columns of the weight that all rows see before the next ones are read.
const WIDTH: usize = 512;
/// Weights with fewer elements are not worth a second thread.
const SHARED: usize = 1 << 17;
/// Rows of an `(out, in)` weight in a piece of work.
const OUTPUTS: usize = 64;

/// `y += x w`, with the weight as `(in, out)`.
pub(crate) fn add_product(x: &[f32], weight_io: &[f32], y: &mut [f32], rows: usize) {
    let (inputs, outputs) = (x.len() / rows.max(1), y.len() / rows.max(1));
    assert_eq!(weight_io.len(), inputs * outputs, "the weight's size");
    if rows == 0 || outputs == 0 {
        return;
    }
    let pieces = if weight_io.len() < SHARED {
        1
    } else {
        rayon::current_num_threads()
    };
    // Every output is the sum of the same numbers in the same order, however
    // many threads there are.
    let piece = outputs.div_ceil(pieces).next_multiple_of(DEPTH * 2);
    let mut columns: Vec<Columns<'_>> = (0..outputs)
        .step_by(piece)
        .map(|first| Columns {
            x,
            weight_io,
            outputs,
            first,
            y: Vec::with_capacity(rows),
        })
        .collect();
    for row in y.chunks_exact_mut(outputs) {
        for (columns, y) in columns.iter_mut().zip(row.chunks_mut(piece)) {
            columns.y.push(y);
        }
    }
    if pieces == 1 {
        columns
            .into_iter()
            .for_each(|columns| Arch::new().dispatch(columns));
    } else {
        columns
            .into_par_iter()
            .with_max_len(1)
            .for_each(|columns| Arch::new().dispatch(columns));
    }
}

/// The outputs from `first` on.
struct Columns<'a> {
    x: &'a [f32],
    weight_io: &'a [f32],
    outputs: usize,
    first: usize,
    /// Of each row.
    y: Vec<&'a mut [f32]>,
}

impl WithSimd for Columns<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let inputs = self.x.len() / self.y.len();
        let width = self.y.first().map_or(0, |y| y.len());
        for depth in (0..inputs).step_by(DEPTH) {
            let deep = DEPTH.min(inputs - depth);
            for start in (0..width).step_by(WIDTH) {
                let end = width.min(start + WIDTH);
                let line = |k: usize| {
                    let at = (depth + k) * self.outputs + self.first;
                    &self.weight_io[at + start..at + end]
                };
                for (x, y) in self.x.chunks_exact(inputs).zip(&mut self.y) {
                    let (x, y) = (&x[depth..depth + deep], &mut y[start..end]);
                    if let Ok(x) = <&[f32; DEPTH]>::try_from(x) {
                        add_lines(simd, x, std::array::from_fn(line), y);
                    } else {
                        for (k, &x) in x.iter().enumerate() {
                            add_lines(simd, &[x], [line(k)], y);
                        }
                    }
                }
            }
        }
    }
}

/// `y += sum x_k line_k`.
#[inline(always)]
fn add_lines<S: Simd, const N: usize>(simd: S, x: &[f32; N], lines: [&[f32]; N], y: &mut [f32]) {
    let width = y.len();
    let lines = lines.map(|line| &line[..width]);
    let splat = x.map(|x| simd.splat_f32s(x));
    let vectors = lines.map(|line| S::as_simd_f32s(line).0);
    let (sums, rest) = S::as_mut_simd_f32s(y);
    let vectors = vectors.map(|line| &line[..sums.len()]);
    for (at, sum) in sums.iter_mut().enumerate() {
        let mut total = *sum;
        for (&x, line) in splat.iter().zip(&vectors) {
            total = simd.mul_add_e_f32s(x, line[at], total);
        }
        *sum = total;
    }
    let done = width - rest.len();
    for (at, sum) in rest.iter_mut().enumerate() {
        for (x, line) in x.iter().zip(&lines) {
            *sum += x * line[done + at];
        }
    }
}

/// A weight `(in, out)` in eight bits, and what each output is multiplied by.
#[derive(Clone, Debug)]
pub(crate) struct Rounded {
    weight_io: Vec<i8>,
    scale: Vec<f32>,
}

impl Rounded {
    /// The nearest to a weight with so many outputs.
    pub(crate) fn new(weight_io: &[f32], outputs: usize) -> Self {
        let mut most = vec![0.0_f32; outputs];
        for row in weight_io.chunks_exact(outputs.max(1)) {
            for (most, weight) in most.iter_mut().zip(row) {
                *most = most.max(weight.abs());
            }
        }
        let scale: Vec<f32> = most.iter().map(|most| most / 127.0).collect();
        let round = |row: &[f32]| -> Vec<i8> {
            let pairs = row.iter().zip(&scale);
            pairs
                .map(|(weight, scale)| nearest(weight / scale))
                .collect()
        };
        let rows = weight_io.par_chunks_exact(outputs.max(1));
        let rows: Vec<Vec<i8>> = rows.map(round).collect();
        Self {
            weight_io: rows.concat(),
            scale,
        }
    }

    /// `y += x w` of one row.
    pub(crate) fn add_product(&self, x: &[f32], y: &mut [f32]) {
        let outputs = self.scale.len();
        assert_eq!(y.len(), outputs, "the output's size");
        assert_eq!(self.weight_io.len(), x.len() * outputs, "the weight's size");
        let threads = rayon::current_num_threads();
        let piece = outputs.div_ceil(threads).next_multiple_of(64);
        y.par_chunks_mut(piece)
            .zip(self.scale.par_chunks(piece))
            .enumerate()
            .for_each(|(index, (y, scale))| {
                let first = index * piece;
                let mut sums = vec![0.0_f32; y.len()];
                vectorize(
                    #[inline(always)]
                    || {
                        for (k, x) in x.chunks(DEPTH).enumerate() {
                            self.add_lines(k * DEPTH, first, x, &mut sums);
                        }
                        for ((y, sum), scale) in y.iter_mut().zip(&sums).zip(scale) {
                            *y += sum * scale;
                        }
                    },
                );
            });
    }

    #[inline(always)]
    fn add_lines(&self, input: usize, first: usize, x: &[f32], sums: &mut [f32]) {
        let outputs = self.scale.len();
        let width = sums.len();
        let line = |k: usize| &self.weight_io[(input + k) * outputs + first..][..width];
        if let Ok(x) = <[f32; DEPTH]>::try_from(x) {
            let [a, b, c, d, e, f, g, h] = std::array::from_fn(line);
            for (at, sum) in sums.iter_mut().enumerate() {
                let two = |x: f32, line: &[i8], y: f32, other: &[i8]| {
                    x.mul_add(f32::from(line[at]), y * f32::from(other[at]))
                };
                let near = two(x[0], a, x[1], b) + two(x[2], c, x[3], d);
                let far = two(x[4], e, x[5], f) + two(x[6], g, x[7], h);
                *sum += near + far;
            }
        } else {
            for (k, &x) in x.iter().enumerate() {
                let line = line(k);
                for (sum, &weight) in sums.iter_mut().zip(line) {
                    *sum += x * f32::from(weight);
                }
            }
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "within -127 and 127, or not a number"
)]
fn nearest(x: f32) -> i8 {
    x.round() as i8
}

/// `y = x w^T + b`, with the weight as `(out, in)`.
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
    fn products_are_their_definition() {
        for (rows, inputs, outputs) in [(1, 1, 1), (3, 13, 70), (2, 192, 576), (5, 300, 1030)] {
            let x = numbers(rows * inputs, 1);
            let weight = numbers(inputs * outputs, 2);
            let bias = numbers(outputs, 3);
            let mut by_columns = bias.repeat(rows);
            add_product(&x, &weight, &mut by_columns, rows);
            let mut by_rows = vec![f32::NAN; rows * outputs];
            product_of_rows(&x, &weight, &bias, &mut by_rows, rows);
            for (at, (&a, &b)) in by_columns.iter().zip(&by_rows).enumerate() {
                let (r, o) = (at / outputs, at % outputs);
                let total = |weight: &dyn Fn(usize) -> f32| -> f32 {
                    bias[o]
                        + (0..inputs)
                            .map(|i| x[r * inputs + i] * weight(i))
                            .sum::<f32>()
                };
                let want = total(&|i| weight[i * outputs + o]);
                assert!((a - want).abs() < 1e-4, "{rows} x {inputs} x {outputs}");
                let want = total(&|i| weight[o * inputs + i]);
                assert!((b - want).abs() < 1e-4, "{rows} x {inputs} x {outputs}");
            }
        }
    }

    #[test]
    fn a_rounded_weight_is_near_and_its_product_exact() {
        for (inputs, outputs) in [(1, 1), (13, 70), (300, 1030)] {
            let x = numbers(inputs, 1);
            let mut weight = numbers(inputs * outputs, 2);
            // An output that hears nothing.
            weight.iter_mut().step_by(outputs).for_each(|w| *w = 0.0);
            let rounded = Rounded::new(&weight, outputs);
            let mut y = vec![0.5; outputs];
            rounded.add_product(&x, &mut y);
            for (o, y) in y.iter().enumerate() {
                let near =
                    |i: usize| f32::from(rounded.weight_io[i * outputs + o]) * rounded.scale[o];
                let want: f32 = (0..inputs).map(|i| x[i] * near(i)).sum::<f32>() + 0.5;
                assert!((y - want).abs() < 1e-4, "{inputs} x {outputs}: {y} {want}");
                for i in 0..inputs {
                    let off = (near(i) - weight[i * outputs + o]).abs();
                    assert!(off <= rounded.scale[o] * 0.5001);
                }
            }
        }
    }

    #[test]
    fn a_row_comes_out_the_same_beside_others_and_on_any_threads() {
        let (rows, inputs, outputs) = (4, 512, 1100);
        let x = numbers(rows * inputs, 1);
        let weight = numbers(inputs * outputs, 2);
        let with = |threads: usize, x: &[f32], rows: usize| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            let mut y = vec![0.0; rows * outputs];
            pool.install(|| add_product(x, &weight, &mut y, rows));
            y
        };
        let together = with(3, &x, rows);
        for row in 0..rows {
            let alone = with(1, &x[row * inputs..(row + 1) * inputs], 1);
            assert_eq!(together[row * outputs..(row + 1) * outputs], alone);
        }
    }
}
