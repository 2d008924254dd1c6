//! The layers of the speaker encoder, under the reference's names.

use burn::module::{Module, Param};
use burn::tensor::Tensor;
use burn::tensor::activation::{relu, sigmoid};
use burn::tensor::module::conv2d;
use burn::tensor::ops::ConvOptions;

use super::config::{BlockShape, SQUEEZE};
use crate::init::Init;
use crate::layers::Linear;

const NORM_EPSILON: f64 = 1e-5;

/// A convolution over `(batch, channels, bands, frames)`.
#[derive(Module, Debug)]
pub(crate) struct Conv2d {
    /// The weight, `(out, in, kernel, kernel)`.
    pub(crate) weight: Param<Tensor<4>>,
    /// The bias, `(out)`, if there is one.
    pub(crate) bias: Option<Param<Tensor<1>>>,
    #[module(skip)]
    stride: usize,
}

impl Conv2d {
    pub(super) fn new(init: &Init, shape: BlockShape, kernel: usize, bias: bool) -> Self {
        let BlockShape {
            inputs,
            outputs,
            stride,
        } = shape;
        let bound = 1.0 / ((inputs * kernel * kernel) as f64).sqrt();
        Self {
            weight: init.uniform([outputs, inputs, kernel, kernel], bound),
            bias: bias.then(|| init.uniform([outputs], bound)),
            stride,
        }
    }

    pub(super) fn forward(&self, x_bcft: Tensor<4>) -> Tensor<4> {
        let [_, _, kernel, _] = self.weight.dims();
        let padding = kernel / 2;
        let options = ConvOptions::new([self.stride, self.stride], [padding, padding], [1, 1], 1);
        conv2d(
            x_bcft,
            self.weight.val(),
            self.bias.as_ref().map(Param::val),
            options,
        )
    }
}

/// A batch norm that uses its running statistics: the encoder is used, not trained.
#[derive(Module, Debug)]
pub(crate) struct BatchNorm {
    /// The scale of each channel.
    pub(crate) weight: Param<Tensor<1>>,
    /// The shift of each channel.
    pub(crate) bias: Param<Tensor<1>>,
    /// The mean of each channel.
    running_mean: Param<Tensor<1>>,
    /// The variance of each channel.
    running_var: Param<Tensor<1>>,
}

impl BatchNorm {
    pub(super) fn new(init: &Init, channels: usize) -> Self {
        Self {
            weight: init.constant([channels], 1.0),
            bias: init.constant([channels], 0.0),
            running_mean: init.buffer(Tensor::zeros([channels], init.device())),
            running_var: init.buffer(Tensor::ones([channels], init.device())),
        }
    }

    /// Applies the norm over the second dimension.
    pub(super) fn forward<const D: usize>(&self, x: Tensor<D>) -> Tensor<D> {
        let mut shape = [1; D];
        shape[1] = self.weight.dims()[0];
        let scale = self.weight.val() / (self.running_var.val() + NORM_EPSILON).sqrt();
        let shift = self.bias.val() - self.running_mean.val() * scale.clone();
        x * scale.reshape(shape) + shift.reshape(shape)
    }
}

/// Squeeze-and-excitation, which weights channels by their means.
#[derive(Module, Debug)]
pub(crate) struct Excitation {
    /// The two layers that compute the weights.
    pub(crate) fc: ExcitationLayers,
}

/// A layer to fewer channels, and one back.
#[derive(Module, Debug)]
pub(crate) struct ExcitationLayers {
    /// To an eighth of the channels.
    pub(crate) _0: Linear,
    /// Back to all channels.
    pub(crate) _2: Linear,
}

/// The shortcut of a block that changes the shape.
#[derive(Module, Debug)]
pub(crate) struct Downsample {
    /// The convolution, of one tap.
    pub(crate) _0: Conv2d,
    /// The norm after the convolution.
    pub(crate) _1: BatchNorm,
}

/// A residual block with squeeze-and-excitation.
#[derive(Module, Debug)]
pub(crate) struct Block {
    /// The first convolution, which takes the block's step.
    pub(crate) conv1: Conv2d,
    /// The norm of the first convolution, after the ReLU.
    pub(crate) bn1: BatchNorm,
    /// The second convolution, of step 1.
    conv2: Conv2d,
    /// The norm of the second convolution.
    bn2: BatchNorm,
    /// The weights of the channels, from their means.
    se: Excitation,
    /// The shortcut, if it is not the identity.
    downsample: Option<Downsample>,
}

impl Block {
    pub(super) fn new(init: &Init, shape: BlockShape) -> Self {
        let outputs = shape.outputs;
        let second = BlockShape {
            inputs: outputs,
            outputs,
            stride: 1,
        };
        Self {
            conv1: Conv2d::new(init, shape, 3, false),
            bn1: BatchNorm::new(init, outputs),
            conv2: Conv2d::new(init, second, 3, false),
            bn2: BatchNorm::new(init, outputs),
            se: Excitation {
                fc: ExcitationLayers {
                    _0: Linear::new(init, outputs, outputs / SQUEEZE, true),
                    _2: Linear::new(init, outputs / SQUEEZE, outputs, true),
                },
            },
            downsample: shape.changes().then(|| Downsample {
                _0: Conv2d::new(init, shape, 1, false),
                _1: BatchNorm::new(init, outputs),
            }),
        }
    }

    pub(super) fn forward(&self, x_bcft: Tensor<4>) -> Tensor<4> {
        let inner = self.bn1.forward(relu(self.conv1.forward(x_bcft.clone())));
        let inner = self.se.forward(self.bn2.forward(self.conv2.forward(inner)));
        let shortcut = match &self.downsample {
            Some(down) => down._1.forward(down._0.forward(x_bcft)),
            None => x_bcft,
        };
        relu(inner + shortcut)
    }
}

impl Excitation {
    fn forward(&self, x_bcft: Tensor<4>) -> Tensor<4> {
        let [batch, channels, _, _] = x_bcft.dims();
        let means_bc = x_bcft
            .clone()
            .mean_dim(3)
            .mean_dim(2)
            .reshape([batch, channels]);
        let weights_bc = sigmoid(self.fc._2.forward(relu(self.fc._0.forward(means_bc))));
        x_bcft * weights_bc.reshape([batch, channels, 1, 1])
    }
}
