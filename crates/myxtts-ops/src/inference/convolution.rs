//! Convolutions over a stream.
//!
//! A [`Window`] holds the columns that are still needed. What is pushed into it comes out of a
//! [`Convolution`] as soon as everything an output hears is there, and never twice: all pieces
//! together are the whole, except for rounding.

use rayon::prelude::*;

use crate::kernel::conv::Taps;
use crate::kernel::math::vectorize;
use crate::kernel::registers::{SLACK, Signal, Sizes};
use crate::kernel::winograd::Winograd;

/// A `(channels, time)` signal with rows one after the other.
#[derive(Clone, Debug, PartialEq)]
pub struct Columns {
    /// The numbers, row by row.
    pub data: Vec<f32>,
    /// The number of rows.
    pub channels: usize,
}

impl Columns {
    /// Makes `width` columns of zeros.
    pub fn zeros(channels: usize, width: usize) -> Self {
        Self {
            data: vec![0.0; channels * width],
            channels,
        }
    }

    /// Returns the number of columns.
    pub fn width(&self) -> usize {
        self.data.len() / self.channels.max(1)
    }

    fn rows(&self) -> impl Iterator<Item = &[f32]> {
        self.data.chunks_exact(self.width().max(1))
    }
}

/// The columns of a stream from some point on.
#[derive(Clone, Debug)]
pub struct Window {
    data: Vec<f32>,
    channels: usize,
    stride: usize,
    start: usize,
    width: usize,
}

impl Window {
    /// Makes a window that starts with `zeros` columns of zeros.
    pub fn new(channels: usize, zeros: usize) -> Self {
        let stride = zeros + SLACK;
        Self {
            data: vec![0.0; channels * stride],
            channels,
            stride,
            start: 0,
            width: zeros,
        }
    }

    /// Appends columns, each number passed through `map`.
    pub fn push(&mut self, columns: &Columns, map: impl Fn(f32) -> f32) {
        let added = columns.width();
        self.make_room(added);
        let at = self.start + self.width;
        let rows = self.data.chunks_exact_mut(self.stride);
        for (to, from) in rows.zip(columns.rows()) {
            let to = &mut to[at..at + added];
            vectorize(
                #[inline(always)]
                || {
                    for (to, &from) in to.iter_mut().zip(from) {
                        *to = map(from);
                    }
                },
            );
        }
        self.width += added;
    }

    /// Appends columns of zeros.
    pub fn push_zeros(&mut self, added: usize) {
        self.make_room(added);
        let at = self.start + self.width;
        for row in self.data.chunks_exact_mut(self.stride) {
            row[at..at + added].fill(0.0);
        }
        self.width += added;
    }

    /// Removes the first columns and returns them.
    pub fn take(&mut self, width: usize) -> Columns {
        let width = width.min(self.width);
        let mut data = Vec::with_capacity(self.channels * width);
        for row in self.data.chunks_exact(self.stride) {
            data.extend_from_slice(&row[self.start..self.start + width]);
        }
        self.skip(width);
        Columns {
            data,
            channels: self.channels,
        }
    }

    /// Removes the first columns and adds them to `to`.
    pub fn take_into(&mut self, to: &mut Columns) {
        let width = to.width();
        let rows = self.data.chunks_exact(self.stride);
        for (to, from) in to.data.chunks_exact_mut(width.max(1)).zip(rows) {
            add(to, &from[self.start..]);
        }
        self.skip(width);
    }

    /// Removes the first columns of several windows, as many as all of them hold, and returns
    /// their mean.
    pub fn take_mean<'a>(windows: impl IntoIterator<Item = &'a mut Self>) -> Columns {
        let windows: Vec<&mut Self> = windows.into_iter().collect();
        let width = windows.iter().map(|window| window.width).min();
        let width = width.unwrap_or(0);
        let channels = windows.first().map_or(0, |window| window.channels);
        let count = windows.len() as f32;
        let mut mean = Columns::zeros(channels, width);
        let rows = mean.data.par_chunks_mut(width.max(1));
        rows.enumerate().for_each(|(channel, to)| {
            for window in &windows {
                let at = channel * window.stride + window.start;
                add(to, &window.data[at..at + width]);
            }
            vectorize(
                #[inline(always)]
                || to.iter_mut().for_each(|to| *to /= count),
            );
        });
        for window in windows {
            window.skip(width);
        }
        mean
    }

    fn skip(&mut self, width: usize) {
        let width = width.min(self.width);
        self.start += width;
        self.width -= width;
    }

    fn make_room(&mut self, added: usize) {
        if self.start + self.width + added + SLACK <= self.stride {
            return;
        }
        let held = self.start..self.start + self.width;
        let needed = self.width + added + SLACK;
        if needed <= self.stride {
            // Few columns are held beside those that come and go, so moving them is cheap.
            for row in self.data.chunks_exact_mut(self.stride) {
                row.copy_within(held.clone(), 0);
            }
        } else {
            let mut data = vec![0.0; self.channels * needed];
            let rows = self.data.chunks_exact(self.stride);
            for (to, from) in data.chunks_exact_mut(needed).zip(rows) {
                to[..self.width].copy_from_slice(&from[held.clone()]);
            }
            (self.data, self.stride) = (data, needed);
        }
        self.start = 0;
    }
}

/// Adds as many numbers as fit.
fn add(to: &mut [f32], from: &[f32]) {
    vectorize(
        #[inline(always)]
        || {
            for (to, from) in to.iter_mut().zip(from) {
                *to += from;
            }
        },
    );
}

/// A convolution with its weight in the order in which it is read.
#[derive(Clone, Debug)]
pub struct Convolution {
    sizes: Sizes,
    form: Form,
}

#[derive(Clone, Debug)]
enum Form {
    Plain(Taps),
    Winograd(Winograd),
}

impl Convolution {
    /// Prepares a weight `(outputs, inputs, taps)`.
    pub fn new(weight_oik: &[f32], [outputs, inputs, taps]: [usize; 3], dilation: usize) -> Self {
        let sizes = Sizes {
            outputs,
            inputs,
            taps,
            dilation,
        };
        let form = if Winograd::pays(sizes) {
            Form::Winograd(Winograd::new(weight_oik, sizes))
        } else {
            Form::Plain(Taps::new(weight_oik, sizes))
        };
        Self { sizes, form }
    }

    /// Returns the number of output channels.
    pub fn outputs(&self) -> usize {
        self.sizes.outputs
    }

    /// Returns the number of input channels.
    pub fn inputs(&self) -> usize {
        self.sizes.inputs
    }

    /// Returns the number of columns that an output hears, less one.
    pub fn reach(&self) -> usize {
        self.sizes.reach()
    }

    /// Computes every output that the window suffices for, and drops the columns that no later
    /// output hears.
    pub fn heard(&self, window: &mut Window, bias: &[f32]) -> Columns {
        let mut out = Columns::zeros(self.outputs(), 0);
        self.heard_into(window, bias, &mut out);
        out
    }

    /// Does the same, replacing what is in `out` and reusing its memory.
    pub fn heard_into(&self, window: &mut Window, bias: &[f32], out: &mut Columns) {
        let width = window.width.saturating_sub(self.reach());
        out.channels = self.outputs();
        out.data.resize(self.outputs() * width, 0.0);
        let x = Signal {
            data: &window.data[window.start..],
            stride: window.stride,
        };
        match &self.form {
            Form::Plain(taps) => taps.convolve(x, bias, &mut out.data, width),
            Form::Winograd(taps) => taps.convolve(x, bias, &mut out.data, width),
        }
        window.skip(width);
    }
}

/// A transposed convolution: the outputs of each phase of its stride are a
/// convolution of their own.
#[derive(Clone, Debug)]
pub struct Transposed {
    phases: Convolution,
    outputs: usize,
    stride: usize,
}

impl Transposed {
    /// Prepares a weight `(inputs, outputs, kernel)`.
    pub fn new(weight_iok: &[f32], [inputs, outputs, kernel]: [usize; 3], stride: usize) -> Self {
        let taps = kernel.div_ceil(stride.max(1));
        let mut weight = vec![0.0; stride * outputs * inputs * taps];
        for input in 0..inputs {
            for output in 0..outputs {
                for at in 0..kernel {
                    let (phase, back) = (at % stride, at / stride);
                    let row = (phase * outputs + output) * inputs + input;
                    weight[row * taps + taps - 1 - back] =
                        weight_iok[(input * outputs + output) * kernel + at];
                }
            }
        }
        Self {
            phases: Convolution::new(&weight, [stride * outputs, inputs, taps], 1),
            outputs,
            stride,
        }
    }

    /// Returns the columns of zeros that stand before the first and after the last.
    pub fn reach(&self) -> usize {
        self.phases.reach()
    }

    /// Computes every output that the window suffices for.
    pub fn heard(&self, window: &mut Window, bias: &[f32]) -> Columns {
        let by_phase = self.phases.heard(window, &bias.repeat(self.stride));
        let width = by_phase.width();
        let mut out = Columns::zeros(self.outputs, width * self.stride);
        let rows = out.data.par_chunks_mut((width * self.stride).max(1));
        rows.enumerate().for_each(|(output, to)| {
            for phase in 0..self.stride {
                let start = (phase * self.outputs + output) * width;
                let from = &by_phase.data[start..start + width];
                for (to, from) in to.iter_mut().skip(phase).step_by(self.stride).zip(from) {
                    *to = *from;
                }
            }
        });
        out
    }
}
