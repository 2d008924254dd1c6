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

/// A weight in either form.
#[derive(Module, Debug)]
pub(crate) enum NormedWeight {
    /// A length and a direction, as trained.
    Trained(WeightNorm),
    /// Their product, for inference.
    Folded(PlainWeight),
}

/// The length and direction of a weight, nested as in the checkpoint.
#[derive(Module, Debug)]
pub(crate) struct WeightNorm {
    /// One entry per parametrised tensor.
    parametrizations: Parametrizations,
}

/// The parametrised tensors, of which there is one.
#[derive(Module, Debug)]
pub(crate) struct Parametrizations {
    /// The parts of the weight.
    pub(crate) weight: Originals,
}

/// A length and a direction.
#[derive(Module, Debug)]
pub(crate) struct Originals {
    /// The length of each slice, `(first, 1, 1)`.
    original0: Param<Tensor<3>>,
    /// The direction, in the shape of the weight.
    original1: Param<Tensor<3>>,
}

/// A weight in the form that the convolution takes.
#[derive(Module, Debug)]
pub(crate) struct PlainWeight {
    /// The weight itself, three-dimensional.
    pub(crate) weight: Param<Tensor<3>>,
}

impl NormedWeight {
    /// Draws a new weight uniformly within `bound`, whose length is that of its direction.
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

    /// Returns the product of length and direction.
    pub(crate) fn weight(&self) -> Tensor<3> {
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

/// Returns the Euclidean norm over all dimensions but the first.
fn slice_norm(x: Tensor<3>) -> Tensor<3> {
    x.square().sum_dim(2).sum_dim(1).sqrt()
}

/// A convolution with weight norm.
#[derive(Module, Debug)]
pub(crate) struct NormedConv1d {
    weight_: NormedWeight,
    /// The bias, one number per output.
    pub(crate) bias: Param<Tensor<1>>,
    #[module(skip)]
    shape: ConvShape,
    #[module(skip)]
    groups: usize,
}

impl NormedConv1d {
    /// Draws parameters uniformly within `1 / sqrt(fan in)`, the reference's default.
    pub(crate) fn new(init: &Init, shape: ConvShape) -> Self {
        Self::grouped(init, shape, 1)
    }

    /// Divides channels into groups that do not see each other.
    pub(crate) fn grouped(init: &Init, shape: ConvShape, groups: usize) -> Self {
        let inputs = shape.inputs / groups.max(1);
        let bound = 1.0 / ((inputs * shape.kernel) as f64).sqrt();
        Self {
            weight_: NormedWeight::new(init, [shape.outputs, inputs, shape.kernel], bound),
            bias: init.uniform([shape.outputs], bound),
            shape,
            groups,
        }
    }

    /// Returns how it moves over time.
    pub(crate) fn shape(&self) -> ConvShape {
        self.shape
    }

    /// Returns the weight, `(out, in, taps)`.
    pub(crate) fn weight(&self) -> Tensor<3> {
        self.weight_.weight()
    }

    /// Convolves `(batch, channels, time)` over time.
    pub(crate) fn forward(&self, x_bct: Tensor<3>) -> Tensor<3> {
        self.after(x_bct, None)
    }

    /// Convolves the output of a leaky rectifier of this slope.
    pub(crate) fn after(&self, x_bct: Tensor<3>, slope: Option<f64>) -> Tensor<3> {
        let (x_bct, slope) = rectified(x_bct, slope);
        let conv = Conv {
            groups: self.groups,
            ..self.shape.after(slope)
        };
        conv1d(x_bct, self.weight_.weight(), Some(self.bias.val()), conv)
    }

    /// Folds weight norm into a plain weight.
    #[must_use]
    pub(crate) fn folded(mut self) -> Self {
        self.weight_ = self.weight_.folded();
        self
    }
}

/// A transposed convolution with weight norm.
///
/// The first dimension of its weight is that of the input, so the norm is per input channel, as
/// in the reference.
#[derive(Module, Debug)]
pub struct NormedConvTranspose1d {
    weight_: NormedWeight,
    /// The bias, one number per output.
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

    /// Returns the weight, `(in, out, taps)`.
    pub(crate) fn weight(&self) -> Tensor<3> {
        self.weight_.weight()
    }

    /// Returns the number of frames it makes of one.
    pub(crate) fn stride(&self) -> usize {
        self.stride
    }

    /// Returns the frames that are cut off at each end.
    pub(crate) fn padding(&self) -> usize {
        self.padding
    }

    /// Convolves `(batch, channels, time)` over time.
    pub fn forward(&self, x_bct: Tensor<3>) -> Tensor<3> {
        self.after(x_bct, None)
    }

    /// Convolves the output of a leaky rectifier of this slope.
    pub(crate) fn after(&self, x_bct: Tensor<3>, slope: Option<f64>) -> Tensor<3> {
        let (x_bct, slope) = rectified(x_bct, slope);
        let conv = ConvTransposed {
            stride: self.stride,
            padding: self.padding,
            slope,
        };
        conv_transpose1d(x_bct, self.weight_.weight(), Some(self.bias.val()), conv)
    }

    /// Folds weight norm into a plain weight.
    #[must_use]
    pub(crate) fn folded(mut self) -> Self {
        self.weight_ = self.weight_.folded();
        self
    }
}
