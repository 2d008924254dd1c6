//! Convolutions of a batch `(batch, channels, time)`, forward and backward.
//!
//! Rows of the batch lie one after another with zeros between them, so that one pass serves many
//! short rows as well as a long one. What comes out over the zeros is discarded.

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use super::add_rows;
use super::conv::Taps;
use super::math::vectorize;
use super::registers::{SLACK, Signal, Sizes};
use super::uninit::Uninit;

/// About how many columns a piece of work has.
const PIECE: usize = 2048;
/// Output channels in a tile of the weight's gradient; `GRADIENT_TAPS` is its taps.
const GRADIENT_OUTPUTS: usize = 4;
const GRADIENT_TAPS: usize = 6;
/// Taps of a tile on processors with few registers.
const FEW_TAPS: usize = 2;

/// A convolution over time with a step of 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ConvRule {
    /// Zeros added at each end.
    pub(crate) padding: usize,
    /// Frames between two taps.
    pub(crate) dilation: usize,
    /// The factor that negative inputs are multiplied with first; 1 leaves them.
    pub(crate) slope: f32,
}

/// The sizes of a convolution. Channels are all of them; a group of outputs hears a
/// group of inputs, in order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConvSizes {
    pub(crate) batch: usize,
    pub(crate) inputs: usize,
    pub(crate) outputs: usize,
    pub(crate) groups: usize,
    pub(crate) taps: usize,
    pub(crate) time: usize,
    pub(crate) rule: ConvRule,
}

impl ConvSizes {
    fn reach(&self) -> usize {
        self.group(self.outputs, self.inputs).reach()
    }

    /// The sizes of one group of a convolution from `inputs` to `outputs` channels.
    fn group(&self, outputs: usize, inputs: usize) -> Sizes {
        Sizes {
            outputs: outputs / self.groups.max(1),
            inputs: inputs / self.groups.max(1),
            taps: self.taps,
            dilation: self.rule.dilation,
        }
    }

    /// Returns the columns of a row with its zeros.
    fn span(&self) -> usize {
        self.time + 2 * self.rule.padding
    }

    /// Returns the columns that come out of a row.
    pub(crate) fn heard(&self) -> usize {
        self.span().saturating_sub(self.reach())
    }

    /// Returns the rows of a piece of work.
    fn rows(&self) -> usize {
        PIECE
            .div_ceil(self.span().max(1))
            .clamp(1, self.batch.max(1))
    }

    /// Lays out rows of the input as the taps read them.
    fn laid(&self, x_bit: &[f32]) -> Laid {
        let ConvRule { padding, slope, .. } = self.rule;
        let widths = [padding, self.time, padding];
        match slope {
            1.0 => Laid::new(x_bit, self.inputs, widths, |x| x),
            slope => Laid::new(
                x_bit,
                self.inputs,
                widths,
                #[inline(always)]
                |x| if x < 0.0 { x * slope } else { x },
            ),
        }
    }

    /// Computes `y[b, o, t] = bias[o] + sum w[o, i, k] x[b, i, t + k dilation - padding]`.
    pub(crate) fn convolve(&self, x_bit: &[f32], weight_oik: &[f32], bias: &[f32]) -> Vec<f32> {
        let heard = self.heard();
        if x_bit.is_empty() {
            // Rows of zeros alone have no piece of input, so their output is the bias.
            let bias = |at: usize| bias.get(at / heard % self.outputs).copied();
            let all = 0..self.batch * self.outputs * heard;
            return all.map(|at| bias(at).unwrap_or(0.0)).collect();
        }
        let group = self.group(self.outputs, self.inputs);
        let taps = taps_of_groups(weight_oik, group);
        let mut out = Uninit::new(self.batch * self.outputs * heard);
        let rows = self.rows();
        let each = x_bit.par_chunks((rows * self.inputs * self.time).max(1));
        out.pieces(rows * self.outputs * heard)
            .zip(each)
            .for_each(|(out, x)| {
                let laid = self.laid(x);
                laid.convolve(group, &taps, bias, out, heard, |_, _| ());
            });
        out.finish()
    }

    /// Computes the gradient of the input from that of the output.
    pub(crate) fn input_gradient(
        &self,
        g_bot: &[f32],
        weight_oik: &[f32],
        x_bit: &[f32],
    ) -> Vec<f32> {
        let group = self.group(self.inputs, self.outputs);
        let Sizes {
            outputs: inputs,
            inputs: outputs,
            ..
        } = group;
        let mut turned = vec![0.0; weight_oik.len()];
        for (at, &weight) in weight_oik.iter().enumerate() {
            let (tap, row) = (at % self.taps, at / self.taps);
            let (input, output) = (row % inputs, row / inputs);
            let (first, output) = (output / outputs * inputs, output % outputs);
            turned[((first + input) * outputs + output) * self.taps + self.taps - 1 - tap] = weight;
        }
        let taps = taps_of_groups(&turned, group);
        let (heard, slope) = (self.heard(), self.rule.slope);
        // If an input hears more zeros than there are taps on one side, its outermost outputs
        // come from zeros alone.
        let (zeros, skip) = match self.reach().checked_sub(self.rule.padding) {
            Some(zeros) => (zeros, 0),
            None => (0, self.rule.padding - self.reach()),
        };
        let mut out = Uninit::new(x_bit.len());
        let rows = self.rows();
        let each = g_bot.par_chunks((rows * self.outputs * heard).max(1));
        out.pieces(rows * self.inputs * self.time)
            .zip(each)
            .zip(x_bit.par_chunks((rows * self.inputs * self.time).max(1)))
            .for_each(|((out, g), x)| {
                let laid = Laid::skipping(g, self.outputs, [zeros, heard, zeros], skip);
                laid.convolve(group, &taps, &[], out, self.time, |row, out| {
                    if slope == 1.0 {
                        return;
                    }
                    let x = &x[row * self.time..][..self.time];
                    vectorize(
                        #[inline(always)]
                        || {
                            for (out, &x) in out.iter_mut().zip(x) {
                                *out *= if x < 0.0 { slope } else { 1.0 };
                            }
                        },
                    );
                });
            });
        out.finish()
    }

    /// Computes the gradient of the weight from that of the output.
    pub(crate) fn weight_gradient(&self, g_bot: &[f32], x_bit: &[f32]) -> Vec<f32> {
        let heard = self.heard();
        let rows = self.rows();
        let group = self.group(self.outputs, self.inputs);
        let size = group.outputs * group.inputs * group.taps;
        let partials: Vec<Vec<f32>> = g_bot
            .par_chunks((rows * self.outputs * heard).max(1))
            .zip(x_bit.par_chunks((rows * self.inputs * self.time).max(1)))
            .map(|(g, x)| {
                let x = self.laid(x);
                let g = Laid::new(g, self.outputs, [0, heard, self.reach()], |g| g);
                let mut out = vec![0.0; self.groups * size];
                for (at, out) in out.chunks_exact_mut(size.max(1)).enumerate() {
                    Arch::new().dispatch(WeightGradient {
                        sizes: group,
                        columns: x.rows * x.span() - self.reach(),
                        g: g.signal(at * group.outputs),
                        x: x.signal(at * group.inputs),
                        out,
                    });
                }
                out
            })
            .collect();
        add_rows(partials, self.groups * size)
    }
}

/// The weight `(outputs, inputs of a group, taps)` of each group.
fn taps_of_groups(weight_oik: &[f32], group: Sizes) -> Vec<Taps> {
    let size = group.outputs * group.inputs * group.taps;
    let groups = weight_oik.chunks_exact(size.max(1));
    groups
        .map(|weight_oik| Taps::new(weight_oik, group))
        .collect()
}

/// Rows of `(channels, time)` one after another, with zeros before and after each.
struct Laid {
    data: Vec<f32>,
    stride: usize,
    rows: usize,
    /// Columns of zeros, columns that count, columns of zeros.
    widths: [usize; 3],
}

impl Laid {
    fn new(x_bct: &[f32], channels: usize, widths: [usize; 3], map: impl Fn(f32) -> f32) -> Self {
        let [before, time, after] = widths;
        let span = before + time + after;
        let rows = x_bct.len() / (channels * time).max(1);
        let stride = rows * span + SLACK;
        let mut data = vec![0.0; channels * stride];
        for (row, x_ct) in x_bct.chunks_exact((channels * time).max(1)).enumerate() {
            for (channel, x_t) in x_ct.chunks_exact(time.max(1)).enumerate() {
                let start = channel * stride + row * span + before;
                let to = &mut data[start..start + time];
                vectorize(
                    #[inline(always)]
                    || {
                        for (to, &from) in to.iter_mut().zip(x_t) {
                            *to = map(from);
                        }
                    },
                );
            }
        }
        Self {
            data,
            stride,
            rows,
            widths,
        }
    }

    /// Lays out rows without the first and last `skip` columns of each.
    fn skipping(x_bct: &[f32], channels: usize, widths: [usize; 3], skip: usize) -> Self {
        let [before, time, after] = widths;
        if skip == 0 {
            return Self::new(x_bct, channels, widths, |x| x);
        }
        let kept = time.saturating_sub(2 * skip);
        let rows = x_bct.chunks_exact(time.max(1));
        let inner: Vec<f32> = rows
            .flat_map(|x_t| &x_t[skip..skip + kept])
            .copied()
            .collect();
        Self::new(&inner, channels, [before, kept, after], |x| x)
    }

    fn span(&self) -> usize {
        self.widths.iter().sum()
    }

    /// Channels from `first` on.
    fn signal(&self, first: usize) -> Signal<'_> {
        Signal {
            data: &self.data[first * self.stride..],
            stride: self.stride,
        }
    }

    /// The first `heard` columns that each row gives, as `(batch, outputs, heard)`,
    /// each of them finished by `then`. All groups have the same sizes.
    fn convolve(
        &self,
        group: Sizes,
        taps: &[Taps],
        bias: &[f32],
        out_bot: &mut [f32],
        heard: usize,
        then: impl Fn(usize, &mut [f32]),
    ) {
        let columns = (self.rows * self.span()).saturating_sub(group.reach());
        let outputs = group.outputs * taps.len();
        let mut all = vec![0.0; outputs * columns];
        let each = all.chunks_exact_mut((group.outputs * columns).max(1));
        for (at, (taps, all)) in taps.iter().zip(each).enumerate() {
            // An empty bias is none, for every group.
            let bias = bias.get(at * group.outputs..).unwrap_or_default();
            let bias = bias.get(..group.outputs).unwrap_or_default();
            taps.convolve(self.signal(at * group.inputs), bias, all, columns);
        }
        for (at, out_t) in out_bot.chunks_exact_mut(heard.max(1)).enumerate() {
            let (row, output) = (at / outputs, at % outputs);
            let from = &all[output * columns + row * self.span()..][..heard];
            out_t.copy_from_slice(from);
            then(at, out_t);
        }
    }
}

/// Computes `out[o, i, k] = sum over t of g[o, t] x[i, t + k dilation]`, a tile of outputs and
/// taps at a time in registers.
struct WeightGradient<'a> {
    sizes: Sizes,
    columns: usize,
    g: Signal<'a>,
    x: Signal<'a>,
    out: &'a mut [f32],
}

impl WithSimd for WeightGradient<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let most = match S::REGISTER_COUNT >= 32 {
            true => GRADIENT_TAPS,
            false => FEW_TAPS,
        };
        for start in (0..self.columns).step_by(PIECE) {
            let width = PIECE.min(self.columns - start);
            let mut output = 0;
            while output < self.sizes.outputs {
                let left = self.sizes.outputs - output;
                let tile = match left {
                    1 => 1,
                    2 | 3 => 2,
                    _ => GRADIENT_OUTPUTS,
                };
                for input in 0..self.sizes.inputs {
                    for tap in (0..self.sizes.taps).step_by(most) {
                        let at = Place {
                            output,
                            input,
                            tap,
                            start,
                            width,
                        };
                        let taps = most.min(self.sizes.taps - tap);
                        match tile {
                            1 => self.taps::<S, 1>(simd, taps, at),
                            2 => self.taps::<S, 2>(simd, taps, at),
                            _ => self.taps::<S, GRADIENT_OUTPUTS>(simd, taps, at),
                        }
                    }
                }
                output += tile;
            }
        }
    }
}

/// A tile, and the columns it is summed over.
#[derive(Clone, Copy)]
struct Place {
    output: usize,
    input: usize,
    tap: usize,
    start: usize,
    width: usize,
}

impl<'a> WeightGradient<'a> {
    #[inline(always)]
    fn taps<S: Simd, const M: usize>(&mut self, simd: S, taps: usize, at: Place) {
        match taps {
            1 => self.tile::<S, M, 1>(simd, at),
            2 => self.tile::<S, M, 2>(simd, at),
            3 => self.tile::<S, M, 3>(simd, at),
            4 => self.tile::<S, M, 4>(simd, at),
            5 => self.tile::<S, M, 5>(simd, at),
            _ => self.tile::<S, M, GRADIENT_TAPS>(simd, at),
        }
    }

    #[inline(always)]
    fn tile<S: Simd, const M: usize, const N: usize>(&mut self, simd: S, at: Place) {
        let vectors = at.width.div_ceil(S::F32_LANES);
        let wide = vectors * S::F32_LANES;
        let row = |signal: Signal<'a>, channel: usize, from: usize| {
            let start = channel * signal.stride + from;
            let (row, _) = S::as_simd_f32s(&signal.data[start..start + wide]);
            &row[..vectors]
        };
        let g: [&[S::f32s]; M] = std::array::from_fn(|m| row(self.g, at.output + m, at.start));
        let x: [&[S::f32s]; N] = std::array::from_fn(|n| {
            row(
                self.x,
                at.input,
                at.start + (at.tap + n) * self.sizes.dilation,
            )
        });
        let mut sums = [[simd.splat_f32s(0.0); N]; M];
        for t in 0..vectors {
            let g = g.map(|row| row[t]);
            for (n, x) in x.iter().enumerate() {
                for (sums, &g) in sums.iter_mut().zip(&g) {
                    sums[n] = simd.mul_add_e_f32s(g, x[t], sums[n]);
                }
            }
        }
        for (m, sums) in sums.iter().enumerate() {
            let row = (at.output + m) * self.sizes.inputs + at.input;
            let out = &mut self.out[row * self.sizes.taps + at.tap..][..N];
            for (out, &sum) in out.iter_mut().zip(sums) {
                *out += simd.reduce_sum_f32s(sum);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_without_a_column_hear_their_zeros() {
        let sizes = ConvSizes {
            batch: 2,
            inputs: 3,
            outputs: 2,
            groups: 1,
            taps: 3,
            time: 0,
            rule: ConvRule {
                padding: 2,
                dilation: 1,
                slope: 1.0,
            },
        };
        let weight = [1.0; 18];
        let bias = [0.5, 1.5];
        let heard = sizes.convolve(&[], &weight, &bias);
        assert_eq!(heard, [0.5, 0.5, 1.5, 1.5, 0.5, 0.5, 1.5, 1.5]);
        assert_eq!(sizes.convolve(&[], &weight, &[]), [0.0; 8]);
        assert!(sizes.input_gradient(&[1.0; 8], &weight, &[]).is_empty());
        assert_eq!(sizes.weight_gradient(&[1.0; 8], &[]), [0.0; 18]);
    }
}
