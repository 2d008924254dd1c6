//! Sums of products that stay in registers.
//!
//! A tile of a few output channels and some vectors of time stays in registers
//! while every input channel and tap is added to it. The input is read where
//! it lies, and each sum has one order, whatever tile or thread it falls to.

use pulp::Simd;
use rayon::prelude::*;

/// The output channels of a tile.
pub(super) const TILE: usize = 8;
/// The most vectors of time in a tile.
pub(super) const VECTORS: usize = 3;
/// Lanes of the widest vectors that exist.
pub(super) const WIDEST: usize = 16;
/// Columns that must be readable behind those that count, because vectors are whole.
pub(crate) const SLACK: usize = WIDEST;

/// Multiplications below which a convolution stays on one thread.
const SHARED: usize = 1 << 20;

/// The sizes of a convolution over time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    pub(crate) outputs: usize,
    pub(crate) inputs: usize,
    pub(crate) taps: usize,
    pub(crate) dilation: usize,
}

impl Sizes {
    /// Returns the columns from the first to the last that an output is made of, less one.
    pub(crate) fn reach(self) -> usize {
        self.taps.saturating_sub(1) * self.dilation
    }

    /// Whether `columns` columns are worth a second thread.
    pub(super) fn is_shared(self, columns: usize) -> bool {
        columns * self.outputs * self.inputs * self.taps >= SHARED
    }

    /// Calls `work` with the index, the bias and the rows of every tile of `out`,
    /// `(outputs, columns)`. An empty bias means none.
    pub(super) fn each_tile(
        self,
        out: &mut [f32],
        bias: &[f32],
        columns: usize,
        work: impl Fn(usize, [f32; TILE], &mut [f32]) + Sync,
    ) {
        let work = |(index, rows): (usize, &mut [f32])| {
            let mut start = [0.0; TILE];
            for (start, &bias) in start.iter_mut().zip(bias.iter().skip(index * TILE)) {
                *start = bias;
            }
            work(index, start, rows);
        };
        if self.is_shared(columns) {
            out.par_chunks_mut(TILE * columns)
                .enumerate()
                .for_each(work);
        } else {
            out.chunks_mut(TILE * columns).enumerate().for_each(work);
        }
    }
}

/// A `(channels, time)` signal to read: row `i` starts at `i * stride`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Signal<'a> {
    pub(crate) data: &'a [f32],
    pub(crate) stride: usize,
}

/// The weights of a tile, `(inputs, taps, TILE)`.
#[derive(Clone, Copy)]
pub(super) struct Weights<'a> {
    pub(super) data: &'a [f32],
    pub(super) taps: usize,
    pub(super) dilation: usize,
}

/// Returns the vectors of the next tile if `left` are left. A single one is avoided if possible,
/// since a vector costs less beside others.
pub(super) fn vectors(left: usize) -> usize {
    match left {
        0 | 1 => left,
        2 | 4 => 2,
        _ => VECTORS,
    }
}

impl Weights<'_> {
    /// Computes `sums[m][n] += sum w[i, k, first + m] x[i, start + n lanes + k dilation]`.
    #[inline(always)]
    pub(super) fn add<S: Simd, const M: usize, const N: usize>(
        self,
        simd: S,
        first: usize,
        x: Signal<'_>,
        start: usize,
        sums: &mut [[S::f32s; N]; M],
    ) {
        let wide = N * S::F32_LANES;
        let span = self.taps.saturating_sub(1) * self.dilation + wide;
        let mut total = *sums;
        for (input, weights) in self.data.chunks_exact(self.taps * TILE).enumerate() {
            let row = &x.data[input * x.stride + start..][..span];
            for (tap, weights) in weights.chunks_exact(TILE).enumerate() {
                let (vectors, _) = S::as_simd_f32s(&row[tap * self.dilation..][..wide]);
                let mut x = [simd.splat_f32s(0.0); N];
                x.copy_from_slice(&vectors[..N]);
                for (total, &weight) in total.iter_mut().zip(&weights[first..first + M]) {
                    let weight = simd.splat_f32s(weight);
                    for (total, &x) in total.iter_mut().zip(&x) {
                        *total = simd.mul_add_e_f32s(weight, x, *total);
                    }
                }
            }
        }
        *sums = total;
    }
}

/// Numbers for tests: between -1/2 and 1/2, the same for the same seed.
#[cfg(test)]
pub(super) fn numbers(count: usize, seed: u32) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / 16_777_216.0 - 0.5
    };
    (0..count).map(|_| next()).collect()
}
