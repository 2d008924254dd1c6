//! Linear layers of many rows.
//!
//! A tile of rows and some vectors of outputs stay in registers while a stretch
//! of the weight, small enough for a core's first cache, is added to them. A row
//! comes out the same number for number whatever rows are beside it.

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use super::registers::{Signal, TILE, VECTORS, Weights, vectors};

/// Inputs of a stretch.
const DEPTH: usize = 128;
/// Outputs of a piece of work, at least.
const PIECE: usize = 192;

/// `y += x w`, with the weight as `(in, out)`.
pub(crate) fn add_product(x: &[f32], weight_io: &[f32], y: &mut [f32], rows: usize) {
    let (inputs, outputs) = (x.len() / rows.max(1), y.len() / rows.max(1));
    assert_eq!(weight_io.len(), inputs * outputs, "the weight's size");
    if rows == 0 || outputs == 0 {
        return;
    }
    // Rows of a tile beside each other, as they are multiplied.
    let mut packed = vec![0.0; rows.div_ceil(TILE) * inputs * TILE];
    for (row, x) in x.chunks_exact(inputs.max(1)).enumerate() {
        let tile = &mut packed[row / TILE * inputs * TILE..];
        for (at, &x) in x.iter().enumerate() {
            tile[at * TILE + row % TILE] = x;
        }
    }
    let mut pieces: Vec<Piece<'_>> = (0..outputs)
        .step_by(PIECE)
        .map(|first| Piece {
            packed: &packed,
            inputs,
            weight_io: &weight_io[first..],
            outputs,
            y: Vec::with_capacity(rows),
        })
        .collect();
    for row in y.chunks_exact_mut(outputs) {
        for (piece, y) in pieces.iter_mut().zip(row.chunks_mut(PIECE)) {
            piece.y.push(y);
        }
    }
    pieces
        .into_par_iter()
        .for_each(|piece| Arch::new().dispatch(piece));
}

/// Some outputs of all rows.
struct Piece<'a> {
    /// `(tiles, inputs, TILE)`.
    packed: &'a [f32],
    inputs: usize,
    /// From the first of these outputs on.
    weight_io: &'a [f32],
    outputs: usize,
    /// Of each row.
    y: Vec<&'a mut [f32]>,
}

impl WithSimd for Piece<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let lanes = S::F32_LANES;
        let width = self.y.first().map_or(0, |y| y.len());
        let whole = width / lanes * lanes;
        for depth in (0..self.inputs).step_by(DEPTH) {
            let mut start = 0;
            while start < whole {
                let count = vectors((whole - start) / lanes);
                match count {
                    1 => self.stretch::<S, 1>(simd, depth, start),
                    2 => self.stretch::<S, 2>(simd, depth, start),
                    _ => self.stretch::<S, VECTORS>(simd, depth, start),
                }
                start += count * lanes;
            }
        }
        for (row, y) in self.y.iter_mut().enumerate() {
            let x = &self.packed[row / TILE * self.inputs * TILE..];
            for (column, y) in y.iter_mut().enumerate().skip(whole) {
                for input in 0..self.inputs {
                    let weight = self.weight_io[input * self.outputs + column];
                    *y += x[input * TILE + row % TILE] * weight;
                }
            }
        }
    }
}

impl Piece<'_> {
    /// `N` vectors of outputs from `start` on, for all rows.
    #[inline(always)]
    fn stretch<S: Simd, const N: usize>(&mut self, simd: S, depth: usize, start: usize) {
        for tile in 0..self.y.len().div_ceil(TILE) {
            // A whole tile at once wants more registers than older processors have.
            if S::REGISTER_COUNT >= 32 {
                self.rows::<S, TILE, N>(simd, [tile, 0], depth, start);
            } else {
                self.rows::<S, 4, N>(simd, [tile, 0], depth, start);
                self.rows::<S, 4, N>(simd, [tile, 4], depth, start);
            }
        }
    }

    /// `M` rows of a tile, as far as there are so many.
    #[inline(always)]
    fn rows<S: Simd, const M: usize, const N: usize>(
        &mut self,
        simd: S,
        [tile, first]: [usize; 2],
        depth: usize,
        start: usize,
    ) {
        let wide = N * S::F32_LANES;
        let end = self.inputs.min(depth + DEPTH);
        let from = tile * self.inputs;
        let weights = Weights {
            data: &self.packed[(from + depth) * TILE..(from + end) * TILE],
            taps: 1,
            dilation: 1,
        };
        let x = Signal {
            data: &self.weight_io[depth * self.outputs..],
            stride: self.outputs,
        };
        let mut sums = [[simd.splat_f32s(0.0); N]; M];
        let row = tile * TILE + first;
        for (sum, y) in sums.iter_mut().zip(self.y.iter().skip(row)) {
            sum.copy_from_slice(S::as_simd_f32s(&y[start..start + wide]).0);
        }
        weights.add(simd, first, x, start, &mut sums);
        for (sum, y) in sums.iter().zip(self.y.iter_mut().skip(row)) {
            let (to, _) = S::as_mut_simd_f32s(&mut y[start..start + wide]);
            to.copy_from_slice(sum);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::registers::numbers;
    use super::*;

    #[test]
    fn a_product_is_its_definition_and_rows_do_not_meet() {
        for (rows, inputs, outputs) in [(1, 1, 1), (3, 13, 70), (20, 300, 576), (9, 257, 1030)] {
            let x = numbers(rows * inputs, 1);
            let weight = numbers(inputs * outputs, 2);
            let before = numbers(rows * outputs, 3);
            let mut y = before.clone();
            add_product(&x, &weight, &mut y, rows);
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
                add_product(&x[row * inputs..(row + 1) * inputs], &weight, &mut alone, 1);
                assert_eq!(alone, y[row * outputs..(row + 1) * outputs]);
            }
        }
    }
}
