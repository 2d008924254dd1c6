//! Convolutions whose weight is a length times a direction.
//!
//! `w = g v / |v|` for each slice of the first dimension. Training sees `g` and
//! `v` (`parametrizations.weight.original0` and `original1`); for inference
//! they are folded into `weight`.

use burn::module::{Module, Param};
use burn::tensor::Tensor;
use myxtts_ops::{Conv, ConvTransposed, conv_transpose1d, conv1d, rectified};

use crate::init::Init;
use crate::layers::ConvShape;

/// A weight of either form.
#[derive(Module, Debug)]
pub enum NormedWeight {
    /// Length and direction.
    Trained(WeightNorm),
    /// Their product.
    Folded(PlainWeight),
}

/// Length and direction of a weight, as the checkpoint nests them.
#[derive(Module, Debug)]
pub struct WeightNorm {
    /// Per parametrised tensor.
    pub parametrizations: Parametrizations,
}

/// The one parametrised tensor.
#[derive(Module, Debug)]
pub struct Parametrizations {
    /// The weight.
    pub weight: Originals,
}

/// Length and direction.
#[derive(Module, Debug)]
pub struct Originals {
    /// Length of each slice, `(first, 1, 1)`.
    pub original0: Param<Tensor<3>>,
    /// Direction, in the shape of the weight.
    pub original1: Param<Tensor<3>>,
}

/// A weight as the convolution takes it.
#[derive(Module, Debug)]
pub struct PlainWeight {
    /// The weight.
    pub weight: Param<Tensor<3>>,
}

impl NormedWeight {
    /// A new weight, uniform within `bound`, whose length is that of its direction.
    fn new(init: &Init, shape: [usize; 3], bound: f64) -> Self {
        let direction = init.uniform(shape, bound);
        let length = Param::from_tensor(slice_norm(direction.val()).detach());
        Self::Trained(WeightNorm {
            parametrizations: Parametrizations {
                weight: Originals {
                    original0: length,
                    original1: direction,
                },
            },
        })
    }

    /// The product.
    pub fn weight(&self) -> Tensor<3> {
        match self {
            Self::Trained(norm) => {
                let parts = &norm.parametrizations.weight;
                let direction = parts.original1.val();
                direction.clone() * (parts.original0.val() / slice_norm(direction))
            }
            Self::Folded(plain) => plain.weight.val(),
        }
    }

    fn folded(self) -> Self {
        let weight = Param::from_tensor(self.weight().detach());
        Self::Folded(PlainWeight { weight })
    }
}

/// Euclidean norm over all dimensions but the first.
fn slice_norm(x: Tensor<3>) -> Tensor<3> {
    x.square().sum_dim(2).sum_dim(1).sqrt()
}

/// A convolution with weight norm.
#[derive(Module, Debug)]
pub struct NormedConv1d {
    weight_: NormedWeight,
    /// `(out)`.
    pub bias: Param<Tensor<1>>,
    #[module(skip)]
    shape: ConvShape,
    #[module(skip)]
    groups: usize,
}

impl NormedConv1d {
    /// Uniform within `1 / sqrt(fan in)`, the reference's default.
    pub fn new(init: &Init, shape: ConvShape) -> Self {
        Self::grouped(init, shape, 1)
    }

    /// Channels in groups that do not see each other.
    pub fn grouped(init: &Init, shape: ConvShape, groups: usize) -> Self {
        let inputs = shape.inputs / groups.max(1);
        let bound = 1.0 / ((inputs * shape.kernel) as f64).sqrt();
        Self {
            weight_: NormedWeight::new(init, [shape.outputs, inputs, shape.kernel], bound),
            bias: init.uniform([shape.outputs], bound),
            shape,
            groups,
        }
    }

    /// How it moves over time.
    pub(crate) fn shape(&self) -> ConvShape {
        self.shape
    }

    /// `(out, in, taps)`.
    pub(crate) fn weight(&self) -> Tensor<3> {
        self.weight_.weight()
    }

    /// Convolves.
    pub fn forward(&self, x_bct: Tensor<3>) -> Tensor<3> {
        self.after(x_bct, None)
    }

    /// Convolves what a leaky rectifier of this slope lets through.
    pub fn after(&self, x_bct: Tensor<3>, slope: Option<f64>) -> Tensor<3> {
        let (x_bct, slope) = rectified(x_bct, slope);
        let conv = Conv {
            groups: self.groups,
            ..self.shape.after(slope)
        };
        conv1d(x_bct, self.weight_.weight(), Some(self.bias.val()), conv)
    }

    /// With a plain weight.
    #[must_use]
    pub fn folded(mut self) -> Self {
        self.weight_ = self.weight_.folded();
        self
    }
}

/// A transposed convolution with weight norm.
///
/// The first dimension of its weight is the input's: so the norm is per input
/// channel, as in the reference.
#[derive(Module, Debug)]
pub struct NormedConvTranspose1d {
    weight_: NormedWeight,
    /// `(out)`.
    pub bias: Param<Tensor<1>>,
    #[module(skip)]
    stride: usize,
    #[module(skip)]
    padding: usize,
}

impl NormedConvTranspose1d {
    /// Makes `stride` frames of one; `kernel - stride` must be even.
    pub fn new(init: &Init, inputs: usize, outputs: usize, kernel: usize, stride: usize) -> Self {
        let bound = 1.0 / ((outputs * kernel) as f64).sqrt();
        Self {
            weight_: NormedWeight::new(init, [inputs, outputs, kernel], bound),
            bias: init.uniform([outputs], bound),
            stride,
            padding: (kernel - stride) / 2,
        }
    }

    /// `(in, out, taps)`.
    pub(crate) fn weight(&self) -> Tensor<3> {
        self.weight_.weight()
    }

    /// Frames it makes of one.
    pub(crate) fn stride(&self) -> usize {
        self.stride
    }

    /// Frames that are cut off at each end.
    pub(crate) fn padding(&self) -> usize {
        self.padding
    }

    /// Convolves.
    pub fn forward(&self, x_bct: Tensor<3>) -> Tensor<3> {
        self.after(x_bct, None)
    }

    /// Convolves what a leaky rectifier of this slope lets through.
    pub fn after(&self, x_bct: Tensor<3>, slope: Option<f64>) -> Tensor<3> {
        let (x_bct, slope) = rectified(x_bct, slope);
        let conv = ConvTransposed {
            stride: self.stride,
            padding: self.padding,
            slope,
        };
        conv_transpose1d(x_bct, self.weight_.weight(), Some(self.bias.val()), conv)
    }

    /// With a plain weight.
    #[must_use]
    pub fn folded(mut self) -> Self {
        self.weight_ = self.weight_.folded();
        self
    }
}
