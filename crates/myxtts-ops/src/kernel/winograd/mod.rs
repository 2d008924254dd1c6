//! Convolutions over time with half the products (Winograd's minimal filtering).
//!
//! ```text
//! columns ─> four phases ─> seven points ─┐
//! taps, in fours ──────────> seven points ─┴─> products ─> four phases ─> columns
//! ```
//!
//! Taps are taken four at a time, and so are outputs: the next four taps then hear the next tile,
//! so that a row is transformed once however many taps there are, and each point has its own
//! convolution over tiles. A longer tile would need still fewer products, but lose digits. Here
//! an output differs from the plain sum by about five units in the last place of the largest.
//! Where a piece of a stream ends within a tile, what is unknown counts as zero and changes the
//! other outputs of the tile by rounding only.

mod phases;
mod transform;

use std::cell::Cell;

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use super::registers::{SLACK, Signal, Sizes, TILE, VECTORS, WIDEST, Weights, vectors};

/// Outputs of a tile, which is also the number of taps taken together.
const STEP: usize = 4;
/// Products that a tile needs.
const POINTS: usize = 7;
/// Tiles, over all inputs, that are transformed before they are multiplied: with seven points
/// each they fill less than half of a core's second-level cache.
const HELD: usize = 12_288;

thread_local! {
    /// Memory for columns at the points. It is taken out while it is used, because a thread that
    /// waits for others may begin another convolution.
    static SEEN: Cell<Vec<f32>> = const { Cell::new(vec![]) };
}

/// A convolution's weight at the points, in the order in which it is read.
#[derive(Clone, Debug)]
pub(crate) struct Winograd {
    /// The weight as `(tiles of outputs, POINTS, inputs, fours of taps, TILE)`, zero beyond the
    /// last output and tap.
    packed: Vec<f32>,
    sizes: Sizes,
    /// Groups of four taps.
    fours: usize,
}

impl Winograd {
    /// Whether this saves time: with few channels the transforms cost more than they save.
    pub(crate) fn pays(sizes: Sizes) -> bool {
        sizes.outputs >= TILE && sizes.inputs >= 32 && sizes.taps >= 3
    }

    /// Packs a weight `(outputs, inputs, taps)`.
    pub(crate) fn new(weight_oik: &[f32], sizes: Sizes) -> Self {
        let Sizes { inputs, taps, .. } = sizes;
        let fours = taps.div_ceil(STEP);
        let point = inputs * fours * TILE;
        let mut packed = vec![0.0; sizes.outputs.div_ceil(TILE) * POINTS * point];
        let tiles = packed.par_chunks_mut((POINTS * point).max(1));
        let weights = weight_oik.par_chunks((TILE * inputs * taps).max(1));
        tiles.zip(weights).for_each(|(tile, weights)| {
            let rows = weights.chunks_exact((inputs * taps).max(1));
            for (output, weight_ik) in rows.enumerate() {
                let fours_of = weight_ik.chunks_exact(taps.max(1));
                let all = fours_of.flat_map(|weight_k| weight_k.chunks(STEP));
                for (at, some) in all.enumerate() {
                    let mut taps = [0.0; STEP];
                    taps[..some.len()].copy_from_slice(some);
                    let points = tile.chunks_exact_mut(point);
                    for (point, value) in points.zip(transform::of_taps(taps)) {
                        point[at * TILE + output] = value;
                    }
                }
            }
        });
        Self {
            packed,
            sizes,
            fours,
        }
    }

    /// Computes `out[o, t] = bias[o] + sum w[o, i, k] x[i, t + k dilation]` for `columns` of
    /// time.
    ///
    /// Rows of `x` must be readable for `columns + reach`. An empty bias means none.
    pub(crate) fn convolve(&self, x: Signal<'_>, bias: &[f32], out: &mut [f32], columns: usize) {
        let sizes = self.sizes;
        let Sizes {
            inputs, dilation, ..
        } = sizes;
        assert_eq!(out.len(), sizes.outputs * columns, "the output's size");
        if columns == 0 {
            return;
        }
        // Tiles begin anywhere in a dilation, so their number is a multiple of it.
        let all = columns.div_ceil(STEP * dilation) * dilation;
        let most = (HELD / inputs.max(1)).max(VECTORS * WIDEST);
        let tiles = all.div_ceil(all.div_ceil(most)).next_multiple_of(dilation);
        let heard = (tiles + (self.fours - 1) * dilation).next_multiple_of(WIDEST);
        let stride = heard + SLACK;
        let size = POINTS * inputs * self.fours * TILE;
        // What is left in it is overwritten, or read only for outputs that do not count.
        let mut seen = SEEN.take();
        seen.resize(inputs * POINTS * stride, 0.0);
        for first in (0..columns).step_by(tiles * STEP) {
            let width = (columns - first).min(tiles * STEP);
            let see = |phases: &mut Vec<f32>, (input, points): (usize, &mut [f32])| {
                phases.resize(STEP * (heard + dilation), 0.0);
                Arch::new().dispatch(See {
                    row: &x.data[input * x.stride + first..][..width + sizes.reach()],
                    dilation,
                    phases,
                    heard,
                    points,
                    stride,
                });
            };
            if sizes.is_shared(columns) {
                let rows = seen.par_chunks_mut(POINTS * stride).enumerate();
                rows.with_min_len(TILE).for_each_init(Vec::new, see);
            } else {
                let mut phases = vec![];
                let rows = seen.chunks_mut(POINTS * stride).enumerate();
                rows.for_each(|row| see(&mut phases, row));
            }
            let points = Signal {
                data: &seen,
                stride,
            };
            sizes.each_tile(out, bias, columns, |index, bias, out| {
                let rows = out.chunks_exact_mut(columns);
                Arch::new().dispatch(Make {
                    weight: &self.packed[index * size..(index + 1) * size],
                    bias,
                    taps: self.fours,
                    dilation,
                    seen: points,
                    rows: rows.map(|row| &mut row[first..first + width]).collect(),
                    tiles: width.div_ceil(STEP * dilation) * dilation,
                });
            });
        }
        SEEN.set(seen);
    }
}

/// Transforms one input's tiles to the points.
struct See<'a> {
    row: &'a [f32],
    dilation: usize,
    /// Memory for `heard` and one more dilation of tiles in each phase.
    phases: &'a mut [f32],
    /// The number of tiles, in whole vectors.
    heard: usize,
    /// The result, `(POINTS, stride)`.
    points: &'a mut [f32],
    stride: usize,
}

impl WithSimd for See<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        phases::split(self.row, self.dilation, self.phases);
        let long = self.heard + self.dilation;
        let count = self.heard / S::F32_LANES;
        let mut x: [&[S::f32s]; POINTS] = [&[]; POINTS];
        for (column, x) in x.iter_mut().enumerate() {
            // A column of the next tile is a column of this tile, one dilation later.
            let start = column % STEP * long + column / STEP * self.dilation;
            *x = &S::as_simd_f32s(&self.phases[start..][..self.heard]).0[..count];
        }
        let mut rows = self.points.chunks_exact_mut(self.stride);
        let mut points: [&mut [S::f32s]; POINTS] = Default::default();
        for (point, row) in points.iter_mut().zip(&mut rows) {
            *point = &mut S::as_mut_simd_f32s(&mut row[..self.heard]).0[..count];
        }
        let [x0, x1, x2, x3, x4, x5, x6] = x;
        let [p0, p1, p2, p3, p4, p5, p6] = points;
        for at in 0..count {
            let columns = [x0[at], x1[at], x2[at], x3[at], x4[at], x5[at], x6[at]];
            [p0[at], p1[at], p2[at], p3[at], p4[at], p5[at], p6[at]] =
                transform::of_columns(simd, columns);
        }
    }
}

/// Computes up to [`TILE`] outputs of all tiles.
struct Make<'a> {
    weight: &'a [f32],
    bias: [f32; TILE],
    /// Groups of four taps.
    taps: usize,
    dilation: usize,
    /// The inputs at the points, `(inputs, POINTS, stride)`.
    seen: Signal<'a>,
    rows: Vec<&'a mut [f32]>,
    tiles: usize,
}

impl WithSimd for Make<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        // A whole tile at once needs more registers than older processors have.
        if S::REGISTER_COUNT >= 32 {
            self.channels::<S, TILE>(simd, 0);
        } else {
            self.channels::<S, 4>(simd, 0);
            self.channels::<S, 4>(simd, 4);
        }
    }
}

impl Make<'_> {
    /// Computes channels `first..first + M`, as far as they exist.
    #[inline(always)]
    fn channels<S: Simd, const M: usize>(&mut self, simd: S, first: usize) {
        let lanes = S::F32_LANES;
        let long = self.tiles.next_multiple_of(lanes);
        let mut phases = vec![0.0; M * STEP * long];
        let mut start = 0;
        while start < long {
            let count = vectors((long - start) / lanes);
            let phases = &mut phases[start..];
            match count {
                1 => self.block::<S, M, 1>(simd, first, start, phases, long),
                2 => self.block::<S, M, 2>(simd, first, start, phases, long),
                _ => self.block::<S, M, VECTORS>(simd, first, start, phases, long),
            }
            start += count * lanes;
        }
        let channels = phases.chunks_exact(STEP * long);
        for (phases, row) in channels.zip(self.rows.iter_mut().skip(first)) {
            phases::join(phases, self.dilation, row);
        }
    }

    /// Computes `N` vectors of tiles from `start` on.
    #[inline(always)]
    fn block<S: Simd, const M: usize, const N: usize>(
        &self,
        simd: S,
        first: usize,
        start: usize,
        phases: &mut [f32],
        long: usize,
    ) {
        let mut products = [[[simd.splat_f32s(0.0); N]; M]; POINTS];
        let size = self.weight.len() / POINTS;
        for (point, sums) in products.iter_mut().enumerate() {
            let weights = Weights {
                data: &self.weight[point * size..(point + 1) * size],
                taps: self.taps,
                dilation: self.dilation,
            };
            let row = Signal {
                data: &self.seen.data[point * self.seen.stride..],
                stride: POINTS * self.seen.stride,
            };
            weights.add(simd, first, row, start, sums);
        }
        let width = N * S::F32_LANES;
        for (channel, bias) in self.bias[first..first + M].iter().enumerate() {
            let bias = simd.splat_f32s(*bias);
            let mut made = [[simd.splat_f32s(0.0); N]; STEP];
            for at in 0..N {
                let mut of_tile = [bias; POINTS];
                for (of_tile, product) in of_tile.iter_mut().zip(&products) {
                    *of_tile = product[channel][at];
                }
                let outputs = transform::of_products(simd, of_tile, bias);
                for (made, output) in made.iter_mut().zip(outputs) {
                    made[at] = output;
                }
            }
            for (phase, made) in made.iter().enumerate() {
                let to = &mut phases[(channel * STEP + phase) * long..][..width];
                S::as_mut_simd_f32s(to).0.copy_from_slice(made);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::conv::tests::assert_defined;
    use super::super::registers::numbers;
    use super::*;

    #[test]
    fn a_convolution_is_its_definition() {
        assert_defined(|sizes, weight, x, bias, out| {
            Winograd::new(weight, sizes).convolve(x, bias, out, out.len() / sizes.outputs);
        });
    }

    #[test]
    fn the_number_of_threads_does_not_tell() {
        let (channels, columns, stride) = (64, 700, 1000);
        let weight = numbers(channels * channels * 7, 1);
        let data = numbers(channels * stride, 2);
        let sizes = Sizes {
            outputs: channels,
            inputs: channels,
            taps: 7,
            dilation: 3,
        };
        let convolution = Winograd::new(&weight, sizes);
        let with = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            let x = Signal {
                data: &data,
                stride,
            };
            let mut out = vec![0.0; channels * columns];
            pool.build()
                .unwrap()
                .install(|| convolution.convolve(x, &[], &mut out, columns));
            out
        };
        assert_eq!(with(1), with(3));
    }
}
