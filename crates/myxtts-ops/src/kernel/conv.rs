//! Convolutions over time of `(channels, time)`, in registers.
//!
//! A tile of a few output channels and some vectors of time stays in registers
//! while every input channel and tap is added to it. The input is read where
//! it lies, and each sum has one order, whatever tile or thread it falls to.

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

/// Output channels of a tile.
const TILE: usize = 8;
/// Vectors of time of a tile.
const VECTORS: usize = 3;
/// Lanes of the widest vectors there are.
const WIDEST: usize = 16;
/// Columns that can be read behind those that count: tiles are whole.
pub(crate) const SLACK: usize = VECTORS * WIDEST;
/// Multiplications below which a convolution stays on one thread.
const SHARED: usize = 1 << 20;

/// A convolution's weight in the order in which it is read.
#[derive(Clone, Debug)]
pub(crate) struct Taps {
    /// `(tiles, inputs, taps, TILE)`, zero beyond the last output.
    packed: Vec<f32>,
    outputs: usize,
    inputs: usize,
    taps: usize,
    dilation: usize,
}

/// A `(channels, time)` to read: row `i` starts at `i * stride`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Signal<'a> {
    pub(crate) data: &'a [f32],
    pub(crate) stride: usize,
}

impl Taps {
    /// Of a weight `(outputs, inputs, taps)`.
    pub(crate) fn new(
        weight_oik: &[f32],
        [outputs, inputs, taps]: [usize; 3],
        dilation: usize,
    ) -> Self {
        let size = inputs * taps * TILE;
        let mut packed = vec![0.0; outputs.div_ceil(TILE) * size];
        let rows = weight_oik.chunks_exact((inputs * taps).max(1));
        for (output, weight_ik) in rows.enumerate() {
            let tile = &mut packed[output / TILE * size..];
            for (at, &weight) in weight_ik.iter().enumerate() {
                tile[at * TILE + output % TILE] = weight;
            }
        }
        Self {
            packed,
            outputs,
            inputs,
            taps,
            dilation,
        }
    }

    pub(crate) fn outputs(&self) -> usize {
        self.outputs
    }

    pub(crate) fn inputs(&self) -> usize {
        self.inputs
    }

    /// Columns from the first to the last that an output is made of, less one.
    pub(crate) fn reach(&self) -> usize {
        self.taps.saturating_sub(1) * self.dilation
    }

    /// `out[o, t] = bias[o] + sum w[o, i, k] x[i, t + k dilation]` for `columns` of time.
    ///
    /// Rows of `x` can be read for `columns + reach + SLACK`. An empty bias is none.
    pub(crate) fn convolve(&self, x: Signal<'_>, bias: &[f32], out: &mut [f32], columns: usize) {
        assert_eq!(out.len(), self.outputs * columns, "the output's size");
        if columns == 0 {
            return;
        }
        let size = self.inputs * self.taps * TILE;
        let tile = |(index, out): (usize, &mut [f32])| {
            let first = index * TILE;
            let mut start = [0.0; TILE];
            for (start, &bias) in start.iter_mut().zip(bias.iter().skip(first)) {
                *start = bias;
            }
            Arch::new().dispatch(Tile {
                weight: &self.packed[index * size..(index + 1) * size],
                bias: start,
                taps: self.taps,
                dilation: self.dilation,
                x,
                out,
                columns,
            });
        };
        let each = TILE * columns;
        if columns * self.outputs * self.inputs * self.taps < SHARED {
            out.chunks_mut(each).enumerate().for_each(tile);
        } else {
            out.par_chunks_mut(each).enumerate().for_each(tile);
        }
    }
}

/// All columns of up to [`TILE`] output channels.
struct Tile<'a> {
    weight: &'a [f32],
    bias: [f32; TILE],
    taps: usize,
    dilation: usize,
    x: Signal<'a>,
    out: &'a mut [f32],
    columns: usize,
}

impl WithSimd for Tile<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        match self.out.len() / self.columns {
            1 => self.channels::<S, 1>(simd, 0),
            2..=4 => self.channels::<S, 4>(simd, 0),
            // A whole tile at once wants more registers than older processors have.
            _ if S::REGISTER_COUNT >= 32 => self.channels::<S, TILE>(simd, 0),
            _ => {
                self.channels::<S, 4>(simd, 0);
                self.channels::<S, 4>(simd, 4);
            }
        }
    }
}

impl Tile<'_> {
    /// Channels `first..first + M`, as far as there are so many.
    #[inline(always)]
    fn channels<S: Simd, const M: usize>(&mut self, simd: S, first: usize) {
        let wide = VECTORS * S::F32_LANES;
        let span = self.taps.saturating_sub(1) * self.dilation + wide;
        for start in (0..self.columns).step_by(wide) {
            let mut sums = [[simd.splat_f32s(0.0); VECTORS]; M];
            for (sum, &bias) in sums.iter_mut().zip(&self.bias[first..first + M]) {
                *sum = [simd.splat_f32s(bias); VECTORS];
            }
            for (input, weights) in self.weight.chunks_exact(self.taps * TILE).enumerate() {
                let row = &self.x.data[input * self.x.stride + start..][..span];
                for (tap, weights) in weights.chunks_exact(TILE).enumerate() {
                    let (x, _) = S::as_simd_f32s(&row[tap * self.dilation..][..wide]);
                    let x: [S::f32s; VECTORS] = [x[0], x[1], x[2]];
                    for (sum, &weight) in sums.iter_mut().zip(&weights[first..first + M]) {
                        let weight = simd.splat_f32s(weight);
                        for (sum, &x) in sum.iter_mut().zip(&x) {
                            *sum = simd.mul_add_e_f32s(weight, x, *sum);
                        }
                    }
                }
            }
            let width = wide.min(self.columns - start);
            let rows = self.out.chunks_exact_mut(self.columns).skip(first);
            for (sum, row) in sums.iter().zip(rows) {
                let out = &mut row[start..start + width];
                let mut whole = [0.0_f32; SLACK];
                let (vectors, _) = S::as_mut_simd_f32s(&mut whole[..wide]);
                vectors.copy_from_slice(sum);
                out.copy_from_slice(&whole[..width]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(count: usize, seed: u32) -> Vec<f32> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / 16_777_216.0 - 0.5
        };
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn a_convolution_is_its_definition() {
        let shapes = [
            ([1, 3, 7], 1, 50),
            ([4, 5, 3], 2, 1),
            ([8, 8, 11], 5, 97),
            ([13, 6, 1], 1, 48),
            ([20, 16, 2], 1, 49),
            // Large enough to be shared.
            ([64, 64, 11], 3, 200),
        ];
        for ([outputs, inputs, taps], dilation, columns) in shapes {
            let weight = numbers(outputs * inputs * taps, 1);
            let bias = numbers(outputs, 2);
            let convolution = Taps::new(&weight, [outputs, inputs, taps], dilation);
            let stride = columns + convolution.reach() + SLACK;
            let data = numbers(inputs * stride, 3);
            let mut out = vec![f32::NAN; outputs * columns];
            let x = Signal {
                data: &data,
                stride,
            };
            convolution.convolve(x, &bias, &mut out, columns);
            for (at, &found) in out.iter().enumerate() {
                let (o, t) = (at / columns, at % columns);
                let mut want = f64::from(bias[o]);
                for i in 0..inputs {
                    for k in 0..taps {
                        let w = weight[(o * inputs + i) * taps + k];
                        want += f64::from(w) * f64::from(data[i * stride + t + k * dilation]);
                    }
                }
                assert!((f64::from(found) - want).abs() < 1e-4, "{o}, {t}");
            }
        }
    }
}
