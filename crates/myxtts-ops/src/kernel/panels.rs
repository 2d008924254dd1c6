//! Linear layers with their weight in panels.
//!
//! A step of a generation has a few rows and waits for weights; the beginning of
//! a text has dozens and waits for products. Both are served by a weight whose
//! outputs lie in panels that are read from front to back, once for all rows:
//!
//! ```text
//! panel (64 outputs) ─> stretch of inputs, in a core's second cache
//!                         └─> up to 6 rows at a time, their sums in registers
//! ```
//!
//! A row comes out the same number for number whatever rows are beside it, and
//! however many threads there are.

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

/// The outputs of a panel.
pub(super) const PANEL: usize = 64;
/// Inputs of a stretch: an eighth of a core's second-level cache. One that fits the first level
/// would be read sooner, but lose more by loading and storing sums.
const DEPTH: usize = 512;
/// The most rows whose sums are in registers together.
const ROWS: usize = 6;
/// Products below which one thread does them all.
const SHARED: usize = 1 << 17;
/// Rows from which on work is cut finer than by threads, so that another thread can take over
/// what one is late with.
const MANY: usize = 12;
/// Pieces of work for each thread in that case.
const FINER: usize = 4;

/// A weight stored in panels.
#[derive(Clone, Debug)]
pub(crate) struct Panels {
    /// The weight as `(panels, in, PANEL)`, zero beyond the last output.
    packed: Vec<[f32; PANEL]>,
    inputs: usize,
    outputs: usize,
}

impl Panels {
    /// Packs a weight `(in, out)` with this many outputs.
    pub(crate) fn new(weight_io: &[f32], outputs: usize) -> Self {
        let inputs = weight_io.len() / outputs.max(1);
        let mut packed = vec![[0.0; PANEL]; outputs.div_ceil(PANEL) * inputs];
        let panels = packed.par_chunks_mut(inputs.max(1)).enumerate();
        panels.for_each(|(panel, lines)| {
            let rows = weight_io.chunks_exact(outputs.max(1));
            for (line, row) in lines.iter_mut().zip(rows) {
                for (to, from) in line.iter_mut().zip(&row[panel * PANEL..]) {
                    *to = *from;
                }
            }
        });
        Self {
            packed,
            inputs,
            outputs,
        }
    }

    /// Returns lines of [`PANEL`] outputs, panel by panel.
    pub(super) fn lines(&self) -> &[[f32; PANEL]] {
        &self.packed
    }

    /// Returns the number of inputs.
    pub(super) fn inputs(&self) -> usize {
        self.inputs
    }

    /// Returns the number of outputs.
    pub(super) fn outputs(&self) -> usize {
        self.outputs
    }

    /// Computes `y += x w` for `rows` rows.
    pub(crate) fn add_product(&self, x: &[f32], y: &mut [f32], rows: usize) {
        assert_eq!(x.len(), rows * self.inputs, "the input's size");
        assert_eq!(y.len(), rows * self.outputs, "the output's size");
        if x.is_empty() || y.is_empty() {
            return;
        }
        let groups = rows.div_ceil(ROWS);
        let each = rows.div_ceil(groups);
        let packed = groups_of(x, self.inputs, each);
        let pieces = match rows * self.inputs * self.outputs {
            few if few < SHARED => 1,
            _ if rows < MANY => rayon::current_num_threads(),
            _ => rayon::current_num_threads() * FINER,
        };
        let panels = self.outputs.div_ceil(PANEL).div_ceil(pieces);
        let lines = self.packed.chunks(panels * self.inputs);
        let mut work: Vec<Piece<'_>> = lines
            .map(|lines| Piece {
                packed: &packed,
                each,
                inputs: self.inputs,
                lines,
                y: Vec::with_capacity(rows),
            })
            .collect();
        for row in y.chunks_exact_mut(self.outputs) {
            for (piece, y) in work.iter_mut().zip(row.chunks_mut(panels * PANEL)) {
                piece.y.push(y);
            }
        }
        match work.len() {
            1 => work
                .into_iter()
                .for_each(|piece| Arch::new().dispatch(piece)),
            _ => work
                .into_par_iter()
                .with_max_len(1)
                .for_each(|piece| Arch::new().dispatch(piece)),
        }
    }
}

/// Packs groups of `each` rows as they are multiplied: `(groups, in, each)`, zero beyond the last
/// row.
fn groups_of(x: &[f32], inputs: usize, each: usize) -> Vec<f32> {
    let rows = x.len() / inputs;
    let mut packed = vec![0.0; rows.div_ceil(each) * inputs * each];
    for (row, x) in x.chunks_exact(inputs).enumerate() {
        let group = &mut packed[row / each * inputs * each..];
        let places = group.iter_mut().skip(row % each).step_by(each);
        for (to, from) in places.zip(x) {
            *to = *from;
        }
    }
    packed
}

/// Some panels, to be multiplied with all rows.
struct Piece<'a> {
    /// The rows as `(groups, inputs, each)`.
    packed: &'a [f32],
    each: usize,
    inputs: usize,
    lines: &'a [[f32; PANEL]],
    /// The outputs of these panels, for each row.
    y: Vec<&'a mut [f32]>,
}

impl WithSimd for Piece<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        match self.each {
            1 => self.rows::<S, 1>(simd),
            2 => self.rows::<S, 2>(simd),
            3 => self.rows::<S, 3>(simd),
            4 => self.rows::<S, 4>(simd),
            5 => self.rows::<S, 5>(simd),
            _ => self.rows::<S, ROWS>(simd),
        }
    }
}

impl Piece<'_> {
    #[inline(always)]
    fn rows<S: Simd, const M: usize>(self, simd: S) {
        // Uses as many sums as there are registers for.
        if S::REGISTER_COUNT >= 32 {
            self.panels::<S, M, 4>(simd);
        } else {
            self.panels::<S, M, 2>(simd);
        }
    }

    /// Computes `M` rows and `N` vectors at a time.
    #[inline(always)]
    fn panels<S: Simd, const M: usize, const N: usize>(mut self, simd: S) {
        let wide = N * S::F32_LANES;
        for (panel, lines) in self.lines.chunks_exact(self.inputs).enumerate() {
            for (stretch, lines) in lines.chunks(DEPTH).enumerate() {
                let groups = self.packed.chunks_exact(self.inputs * M);
                for (x, y) in groups.zip(self.y.chunks_mut(M)) {
                    let x = &x.as_chunks::<M>().0[stretch * DEPTH..][..lines.len()];
                    for column in (0..PANEL).step_by(wide) {
                        let first = panel * PANEL + column;
                        tile::<S, M, N>(simd, x, lines, column, y, first);
                    }
                }
            }
        }
    }
}

/// Computes `y += sum x_k line_k` for up to `M` rows and `N` vectors: from `column` on in the
/// lines, from `first` on in the rows.
#[inline(always)]
fn tile<S: Simd, const M: usize, const N: usize>(
    simd: S,
    x: &[[f32; M]],
    lines: &[[f32; PANEL]],
    column: usize,
    y: &mut [&mut [f32]],
    first: usize,
) {
    let wide = N * S::F32_LANES;
    let mut sums = [[simd.splat_f32s(0.0); N]; M];
    let mut whole = [0.0_f32; PANEL];
    for (sums, y) in sums.iter_mut().zip(y.iter()) {
        let y = &y[first.min(y.len())..];
        if y.len() >= wide {
            sums.copy_from_slice(S::as_simd_f32s(&y[..wide]).0);
        } else {
            whole[..y.len()].copy_from_slice(y);
            sums.copy_from_slice(S::as_simd_f32s(&whole[..wide]).0);
        }
    }
    // Without this copy the sums would be stored after every line.
    let mut total = sums;
    for (x, line) in x.iter().zip(lines) {
        let (weights, _) = S::as_simd_f32s(&line[column..column + wide]);
        for (total, &x) in total.iter_mut().zip(x) {
            let x = simd.splat_f32s(x);
            for (total, &weight) in total.iter_mut().zip(weights) {
                *total = simd.mul_add_e_f32s(x, weight, *total);
            }
        }
    }
    for (total, y) in total.iter().zip(y) {
        let first = first.min(y.len());
        let y = &mut y[first..];
        if y.len() >= wide {
            S::as_mut_simd_f32s(&mut y[..wide]).0.copy_from_slice(total);
        } else {
            S::as_mut_simd_f32s(&mut whole[..wide])
                .0
                .copy_from_slice(total);
            y.copy_from_slice(&whole[..y.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::registers::numbers;
    use super::*;

    /// Rows, inputs and outputs.
    const SHAPES: [[usize; 3]; 9] = [
        [1, 1, 1],
        [3, 13, 70],
        [2, 192, 576],
        [5, 300, 1030],
        [6, 64, 64],
        [9, 257, 1030],
        [20, 300, 576],
        [71, 65, 129],
        // More than a stretch.
        [7, 1100, 72],
    ];

    #[test]
    fn a_product_is_its_definition_and_rows_do_not_meet() {
        for [rows, inputs, outputs] in SHAPES {
            let x = numbers(rows * inputs, 1);
            let weight = numbers(inputs * outputs, 2);
            let before = numbers(rows * outputs, 3);
            let panels = Panels::new(&weight, outputs);
            let mut y = before.clone();
            panels.add_product(&x, &mut y, rows);
            for (at, (&found, before)) in y.iter().zip(&before).enumerate() {
                let (r, o) = (at / outputs, at % outputs);
                let pair =
                    |i: usize| f64::from(x[r * inputs + i]) * f64::from(weight[i * outputs + o]);
                let want = f64::from(*before) + (0..inputs).map(pair).sum::<f64>();
                let off = (f64::from(found) - want).abs();
                assert!(off < 1e-4, "{rows} x {inputs} x {outputs}: {off}");
            }
            for row in 0..rows {
                let mut alone = before[row * outputs..(row + 1) * outputs].to_vec();
                panels.add_product(&x[row * inputs..(row + 1) * inputs], &mut alone, 1);
                assert_eq!(alone, y[row * outputs..(row + 1) * outputs]);
            }
        }
    }

    #[test]
    fn the_number_of_threads_does_not_tell() {
        let (inputs, outputs) = (512, 1100);
        let panels = Panels::new(&numbers(inputs * outputs, 2), outputs);
        for rows in [1, 4, 13] {
            let x = numbers(rows * inputs, 1);
            let with = |threads: usize| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
                let mut y = vec![0.5; rows * outputs];
                let pool = pool.build().unwrap();
                pool.install(|| panels.add_product(&x, &mut y, rows));
                y
            };
            assert_eq!(with(1), with(3));
        }
    }
}
