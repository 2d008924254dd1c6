//! Convolutions over time of `(channels, time)`, in registers.

use pulp::{Arch, Simd, WithSimd};

use super::registers::{Signal, Sizes, TILE, VECTORS, WIDEST, Weights, vectors};

/// A convolution's weight in the order in which it is read.
#[derive(Clone, Debug)]
pub(crate) struct Taps {
    /// The weight as `(tiles, inputs, taps, TILE)`, zero beyond the last output.
    packed: Vec<f32>,
    sizes: Sizes,
}

impl Taps {
    /// Packs a weight `(outputs, inputs, taps)`.
    pub(crate) fn new(weight_oik: &[f32], sizes: Sizes) -> Self {
        let each = sizes.inputs * sizes.taps;
        let mut packed = vec![0.0; sizes.outputs.div_ceil(TILE) * each * TILE];
        for (output, weight_ik) in weight_oik.chunks_exact(each.max(1)).enumerate() {
            let tile = &mut packed[output / TILE * each * TILE..];
            for (at, &weight) in weight_ik.iter().enumerate() {
                tile[at * TILE + output % TILE] = weight;
            }
        }
        Self { packed, sizes }
    }

    /// Computes `out[o, t] = bias[o] + sum w[o, i, k] x[i, t + k dilation]` for `columns` of
    /// time.
    ///
    /// Rows of `x` must be readable for `columns + reach + SLACK`. An empty bias means none.
    pub(crate) fn convolve(&self, x: Signal<'_>, bias: &[f32], out: &mut [f32], columns: usize) {
        let sizes = self.sizes;
        assert_eq!(out.len(), sizes.outputs * columns, "the output's size");
        if columns == 0 {
            return;
        }
        let size = sizes.inputs * sizes.taps * TILE;
        sizes.each_tile(out, bias, columns, |index, bias, out| {
            Arch::new().dispatch(Tile {
                weights: Weights {
                    data: &self.packed[index * size..(index + 1) * size],
                    taps: sizes.taps,
                    dilation: sizes.dilation,
                },
                bias,
                x,
                out,
                columns,
            });
        });
    }
}

/// All columns of up to [`TILE`] output channels.
struct Tile<'a> {
    weights: Weights<'a>,
    bias: [f32; TILE],
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
            // A whole tile at once needs more registers than older processors have.
            _ if S::REGISTER_COUNT >= 32 => self.channels::<S, TILE>(simd, 0),
            _ => {
                self.channels::<S, 4>(simd, 0);
                self.channels::<S, 4>(simd, 4);
            }
        }
    }
}

impl Tile<'_> {
    /// Computes channels `first..first + M`, as far as they exist.
    #[inline(always)]
    fn channels<S: Simd, const M: usize>(&mut self, simd: S, first: usize) {
        let lanes = S::F32_LANES;
        let mut start = 0;
        while start < self.columns {
            let count = vectors((self.columns - start).div_ceil(lanes));
            match count {
                1 => self.block::<S, M, 1>(simd, first, start),
                2 => self.block::<S, M, 2>(simd, first, start),
                _ => self.block::<S, M, VECTORS>(simd, first, start),
            }
            start += count * lanes;
        }
    }

    /// Computes `N` vectors of columns from `start` on.
    #[inline(always)]
    fn block<S: Simd, const M: usize, const N: usize>(
        &mut self,
        simd: S,
        first: usize,
        start: usize,
    ) {
        let mut sums = [[simd.splat_f32s(0.0); N]; M];
        for (sum, &bias) in sums.iter_mut().zip(&self.bias[first..first + M]) {
            *sum = [simd.splat_f32s(bias); N];
        }
        self.weights.add(simd, first, self.x, start, &mut sums);
        let wide = N * S::F32_LANES;
        let width = wide.min(self.columns - start);
        let rows = self.out.chunks_exact_mut(self.columns).skip(first);
        for (sum, row) in sums.iter().zip(rows) {
            let out = &mut row[start..start + width];
            let mut whole = [0.0_f32; VECTORS * WIDEST];
            let (vectors, _) = S::as_mut_simd_f32s(&mut whole[..wide]);
            vectors.copy_from_slice(sum);
            out.copy_from_slice(&whole[..width]);
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::registers::{SLACK, numbers};
    use super::*;

    /// Outputs, inputs, taps, dilation and columns.
    const SHAPES: [[usize; 5]; 9] = [
        [1, 3, 7, 1, 50],
        [4, 5, 3, 2, 1],
        [8, 8, 11, 5, 97],
        [13, 6, 1, 1, 48],
        [20, 16, 2, 1, 49],
        [9, 32, 4, 3, 130],
        [16, 33, 3, 5, 333],
        // Large enough to be shared.
        [64, 64, 11, 3, 200],
        // And for several pieces.
        [40, 256, 7, 1, 450],
    ];

    /// Compares what `convolve` makes of a weight, a signal and a bias with the
    /// sum that it is to be.
    pub(in super::super) fn assert_defined(
        convolve: impl Fn(Sizes, &[f32], Signal<'_>, &[f32], &mut [f32]),
    ) {
        for [outputs, inputs, taps, dilation, columns] in SHAPES {
            let sizes = Sizes {
                outputs,
                inputs,
                taps,
                dilation,
            };
            let weight = numbers(outputs * inputs * taps, 1);
            let bias = numbers(outputs, 2);
            let stride = columns + sizes.reach() + SLACK;
            let data = numbers(inputs * stride, 3);
            let mut out = vec![f32::NAN; outputs * columns];
            let x = Signal {
                data: &data,
                stride,
            };
            convolve(sizes, &weight, x, &bias, &mut out);
            for (at, &found) in out.iter().enumerate() {
                let (o, t) = (at / columns, at % columns);
                let mut want = f64::from(bias[o]);
                for i in 0..inputs {
                    for k in 0..taps {
                        let w = weight[(o * inputs + i) * taps + k];
                        want += f64::from(w) * f64::from(data[i * stride + t + k * dilation]);
                    }
                }
                let off = (f64::from(found) - want).abs();
                assert!(off < 1e-4, "{sizes:?}: {o}, {t}: {off}");
            }
        }
    }

    #[test]
    fn a_convolution_is_its_definition() {
        assert_defined(|sizes, weight, x, bias, out| {
            Taps::new(weight, sizes).convolve(x, bias, out, out.len() / sizes.outputs);
        });
    }
}
