//! Convolutions that hear a stream.
//!
//! A [`Window`] holds the columns that are still needed. What is pushed into
//! it comes out of a [`Convolution`] as soon as everything an output hears is
//! there, and never twice: all pieces together are the whole, but for rounding.

use crate::kernel::conv::Taps;
use crate::kernel::registers::{SLACK, Signal, Sizes};
use crate::kernel::winograd::Winograd;

/// A `(channels, time)` with rows one after the other.
#[derive(Clone, Debug, PartialEq)]
pub struct Columns {
    /// Row by row.
    pub data: Vec<f32>,
    /// Rows.
    pub channels: usize,
}

impl Columns {
    /// Zeros.
    pub fn zeros(channels: usize, width: usize) -> Self {
        Self {
            data: vec![0.0; channels * width],
            channels,
        }
    }

    /// Columns.
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
    /// Starting with so many columns of zeros.
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

    /// Columns it holds.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Appends columns, each number by way of `map`.
    pub fn push(&mut self, columns: &Columns, map: impl Fn(f32) -> f32) {
        let added = columns.width();
        self.make_room(added);
        let at = self.start + self.width;
        let rows = self.data.chunks_exact_mut(self.stride);
        for (to, from) in rows.zip(columns.rows()) {
            for (to, &from) in to[at..at + added].iter_mut().zip(from) {
                *to = map(from);
            }
        }
        self.width += added;
    }

    /// Appends zeros.
    pub fn push_zeros(&mut self, added: usize) {
        self.make_room(added);
        let at = self.start + self.width;
        for row in self.data.chunks_exact_mut(self.stride) {
            row[at..at + added].fill(0.0);
        }
        self.width += added;
    }

    /// Takes the first columns out.
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

    /// Adds the first columns to `to`, and takes them out.
    pub fn take_into(&mut self, to: &mut Columns) {
        let width = to.width();
        let rows = self.data.chunks_exact(self.stride);
        for (to, from) in to.data.chunks_exact_mut(width.max(1)).zip(rows) {
            for (to, from) in to.iter_mut().zip(&from[self.start..]) {
                *to += from;
            }
        }
        self.skip(width);
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
        // Twice what is needed, so that columns are not moved at every push.
        let stride = 2 * (self.width + added) + SLACK;
        let mut data = vec![0.0; self.channels * stride];
        let rows = self.data.chunks_exact(self.stride);
        for (to, from) in data.chunks_exact_mut(stride).zip(rows) {
            to[..self.width].copy_from_slice(&from[self.start..self.start + self.width]);
        }
        (self.data, self.stride, self.start) = (data, stride, 0);
    }
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
    /// Of a weight `(outputs, inputs, taps)`.
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

    /// Output channels.
    pub fn outputs(&self) -> usize {
        self.sizes.outputs
    }

    /// Input channels.
    pub fn inputs(&self) -> usize {
        self.sizes.inputs
    }

    /// How many columns an output hears, less one.
    pub fn reach(&self) -> usize {
        self.sizes.reach()
    }

    /// Every output that the window suffices for; what no other hears is dropped.
    pub fn heard(&self, window: &mut Window, bias: &[f32]) -> Columns {
        let width = window.width.saturating_sub(self.reach());
        let mut out = Columns::zeros(self.outputs(), width);
        let x = Signal {
            data: &window.data[window.start..],
            stride: window.stride,
        };
        match &self.form {
            Form::Plain(taps) => taps.convolve(x, bias, &mut out.data, width),
            Form::Winograd(taps) => taps.convolve(x, bias, &mut out.data, width),
        }
        window.skip(width);
        out
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
    /// Of a weight `(inputs, outputs, kernel)`.
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

    /// Columns of zeros that stand before the first and after the last.
    pub fn reach(&self) -> usize {
        self.phases.reach()
    }

    /// Every output that the window suffices for.
    pub fn heard(&self, window: &mut Window, bias: &[f32]) -> Columns {
        let by_phase = self.phases.heard(window, &bias.repeat(self.stride));
        let width = by_phase.width();
        let mut out = Columns::zeros(self.outputs, width * self.stride);
        for (row, from) in by_phase.rows().enumerate() {
            let (phase, output) = (row / self.outputs, row % self.outputs);
            let start = output * width * self.stride;
            let to = out.data[start..start + width * self.stride].iter_mut();
            for (to, from) in to.skip(phase).step_by(self.stride).zip(from) {
                *to = *from;
            }
        }
        out
    }
}
