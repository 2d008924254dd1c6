//! Layers that hold their parameters as the public checkpoint does.

use burn::module::{Module, Param};
use burn::tensor::module::{conv1d, embedding};
use burn::tensor::ops::ConvOptions;
use burn::tensor::{Int, Tensor};
use myxtts_ops::Compute;

use crate::adapter::Adapter;
use crate::init::Init;

/// A linear layer, `x w^T + b`, with the weight as `(out, in)`.
#[derive(Module, Debug)]
pub struct Linear {
    /// The weight, `(out, in)`.
    pub weight: Param<Tensor<2>>,
    /// The bias, `(out)`, if there is one.
    pub bias: Option<Param<Tensor<1>>>,
}

impl Linear {
    /// Draws parameters uniformly within `1 / sqrt(in)`, the reference's default.
    pub fn new(init: &Init, inputs: usize, outputs: usize, bias: bool) -> Self {
        let bound = 1.0 / (inputs as f64).sqrt();
        Self {
            weight: init.uniform([outputs, inputs], bound),
            bias: bias.then(|| init.uniform([outputs], bound)),
        }
    }

    /// Applies the layer over the last dimension.
    pub fn forward<const D: usize>(&self, x: Tensor<D>) -> Tensor<D> {
        self.forward_in(x, Compute::F32)
    }

    /// Applies the layer with its product in another precision.
    pub(crate) fn forward_in<const D: usize>(&self, x: Tensor<D>, compute: Compute) -> Tensor<D> {
        let bias = self.bias.as_ref().map(Param::val);
        compute.linear(x, self.weight.val(), bias)
    }
}

/// GPT-2's linear layer, with the weight as `(in, out)`.
#[derive(Module, Debug)]
pub(crate) struct TransposedLinear {
    /// The weight, `(in, out)`.
    pub(crate) weight: Param<Tensor<2>>,
    /// The bias, one number per output.
    pub(crate) bias: Param<Tensor<1>>,
    /// What is learned where weight and bias are frozen.
    pub(crate) adapter: Option<Adapter>,
}

impl TransposedLinear {
    /// Draws normal weights of the given deviation; the bias starts at zero.
    pub(crate) fn new(init: &Init, inputs: usize, outputs: usize, std: f64) -> Self {
        Self {
            weight: init.normal([inputs, outputs], std),
            bias: init.constant([outputs], 0.0),
            adapter: None,
        }
    }

    /// Applies the layer over the last dimension, with the product in the given precision.
    pub(crate) fn forward_in<const D: usize>(&self, x: Tensor<D>, compute: Compute) -> Tensor<D> {
        let layer = |x| compute.transposed_linear(x, self.weight.val(), Some(self.bias.val()));
        match &self.adapter {
            Some(adapter) => layer(x.clone()) + adapter.forward_in(x, compute),
            None => layer(x),
        }
    }

    /// Returns the weight with what its adapter learned.
    pub(crate) fn merged_weight(&self) -> Tensor<2> {
        match &self.adapter {
            Some(adapter) => adapter.merged_with(self.weight.val()),
            None => self.weight.val(),
        }
    }
}

/// A convolution with one tap: a linear layer over the channels of
/// `(batch, channels, time)`.
#[derive(Module, Debug)]
pub struct PointwiseConv {
    /// The weight, `(out, in, 1)`.
    pub weight: Param<Tensor<3>>,
    /// The bias, one number per output.
    pub bias: Param<Tensor<1>>,
}

impl PointwiseConv {
    /// Draws parameters uniformly within `1 / sqrt(in)`, the reference's default.
    pub fn new(init: &Init, inputs: usize, outputs: usize) -> Self {
        let bound = 1.0 / (inputs as f64).sqrt();
        Self {
            weight: init.uniform([outputs, inputs, 1], bound),
            bias: init.uniform([outputs], bound),
        }
    }

    /// Applies the layer at every time, with the product in the given precision.
    pub(crate) fn forward_in(&self, x_bct: Tensor<3>, compute: Compute) -> Tensor<3> {
        compute.pointwise_conv(x_bct, self.weight.val(), Some(self.bias.val()))
    }
}

/// A table of vectors.
#[derive(Module, Debug)]
pub struct Embedding {
    /// The vectors, `(entries, channels)`.
    pub weight: Param<Tensor<2>>,
}

impl Embedding {
    /// Draws normal vectors of the given deviation.
    pub fn new(init: &Init, entries: usize, channels: usize, std: f64) -> Self {
        Self {
            weight: init.normal([entries, channels], std),
        }
    }

    /// Looks up one vector per index.
    pub(crate) fn forward(&self, ids_bt: Tensor<2, Int>) -> Tensor<3> {
        embedding(self.weight.val(), ids_bt)
    }
}

/// The scale and shift of a norm.
#[derive(Module, Debug)]
pub struct NormParams {
    /// The scale of each channel.
    pub weight: Param<Tensor<1>>,
    /// The shift of each channel.
    pub bias: Param<Tensor<1>>,
}

impl NormParams {
    /// Starts with a scale of 1 and a shift of 0.
    pub fn new(init: &Init, channels: usize) -> Self {
        Self {
            weight: init.constant([channels], 1.0),
            bias: init.constant([channels], 0.0),
        }
    }

    /// Applies a layer norm over the last dimension.
    pub(crate) fn layer_norm<const D: usize>(&self, x: Tensor<D>, epsilon: f64) -> Tensor<D> {
        myxtts_ops::layer_norm(x, self.weight.val(), self.bias.val(), epsilon)
    }
}

/// How a convolution moves over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConvShape {
    /// The number of input channels.
    pub inputs: usize,
    /// The number of output channels.
    pub outputs: usize,
    /// Taps of the kernel.
    pub kernel: usize,
    /// Frames between two outputs.
    pub stride: usize,
    /// Zeros added at each end.
    pub padding: usize,
    /// Frames between two taps.
    pub dilation: usize,
}

impl ConvShape {
    /// Makes a shape of stride 1 that keeps the length; `kernel` should be odd.
    pub(crate) fn same(inputs: usize, outputs: usize, kernel: usize) -> Self {
        Self {
            inputs,
            outputs,
            kernel,
            stride: 1,
            padding: kernel / 2,
            dilation: 1,
        }
    }

    /// Returns the operation, applied after a leaky rectifier of this slope.
    pub(crate) fn after(self, slope: Option<f64>) -> myxtts_ops::Conv {
        myxtts_ops::Conv {
            stride: self.stride,
            padding: self.padding,
            dilation: self.dilation,
            groups: 1,
            slope,
        }
    }
}

/// A convolution over `(batch, channels, time)`.
#[derive(Module, Debug)]
pub struct Conv1d {
    /// The weight, `(out, in, kernel)`.
    pub weight: Param<Tensor<3>>,
    /// The bias, `(out)`, if there is one.
    pub bias: Option<Param<Tensor<1>>>,
    #[module(skip)]
    shape: ConvShape,
}

impl Conv1d {
    /// Draws parameters uniformly within `1 / sqrt(in * kernel)`, the reference's default.
    pub fn new(init: &Init, shape: ConvShape, bias: bool) -> Self {
        let bound = 1.0 / ((shape.inputs * shape.kernel) as f64).sqrt();
        Self {
            weight: init.uniform([shape.outputs, shape.inputs, shape.kernel], bound),
            bias: bias.then(|| init.uniform([shape.outputs], bound)),
            shape,
        }
    }

    /// Returns how it moves over time.
    pub(crate) fn shape(&self) -> ConvShape {
        self.shape
    }

    /// Convolves `(batch, channels, time)` over time.
    pub fn forward(&self, x_bct: Tensor<3>) -> Tensor<3> {
        let shape = self.shape;
        let bias = self.bias.as_ref().map(Param::val);
        if (shape.kernel, shape.stride, shape.padding) == (1, 1, 0) {
            return myxtts_ops::pointwise_conv(x_bct, self.weight.val(), bias);
        }
        let options = ConvOptions::new([shape.stride], [shape.padding], [shape.dilation], 1);
        conv1d(x_bct, self.weight.val(), bias, options)
    }

    /// Convolves the output of a leaky rectifier of this slope.
    pub(crate) fn after(&self, x_bct: Tensor<3>, slope: Option<f64>) -> Tensor<3> {
        let (x_bct, slope) = myxtts_ops::rectified(x_bct, slope);
        let bias = self.bias.as_ref().map(Param::val);
        myxtts_ops::conv1d(x_bct, self.weight.val(), bias, self.shape.after(slope))
    }
}
