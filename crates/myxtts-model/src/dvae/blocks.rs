//! The layers of encoder and decoder, under the reference's names.

use burn::module::Module;
use burn::tensor::Tensor;
use burn::tensor::activation::relu;

use super::config::DvaeConfig;
use crate::init::Init;
use crate::layers::{Conv1d, ConvShape};

/// Halves the frame rate.
#[derive(Module, Debug)]
pub struct Halve {
    /// The convolution; a ReLU follows.
    pub(crate) _0: Conv1d,
}

/// Doubles the frame rate.
#[derive(Module, Debug)]
pub struct Double {
    /// Repeats each frame, then convolves; a ReLU follows.
    pub(crate) _0: Upsampled,
}

/// A convolution over frames that were repeated.
#[derive(Module, Debug)]
pub(crate) struct Upsampled {
    /// The convolution over the repeated frames.
    pub(crate) conv: Conv1d,
}

/// A residual block: `x + net(x)`.
#[derive(Module, Debug)]
pub struct ResBlock {
    /// The branch that is added to the input.
    pub net: Branch,
}

/// Three convolutions with ReLUs between them.
#[derive(Module, Debug)]
pub struct Branch {
    /// The first convolution, of `kernel` taps.
    pub(crate) _0: Conv1d,
    /// The second convolution, of `kernel` taps.
    pub(crate) _2: Conv1d,
    /// The last convolution, of one tap.
    _4: Conv1d,
}

/// One entry of the encoder or decoder.
#[expect(
    clippy::large_enum_variant,
    reason = "a model has about ten, and their tensors live elsewhere"
)]
#[derive(Module, Debug)]
pub enum Layer {
    /// Halves the number of frames.
    Halve(Halve),
    /// Doubles the number of frames.
    Double(Double),
    /// Keeps frames and channels.
    Residual(ResBlock),
    /// Keeps the frames and changes the channels.
    Point(Conv1d),
}

impl Layer {
    fn residual(init: &Init, channels: usize, kernel: usize) -> Self {
        let same = ConvShape::same(channels, channels, kernel);
        Self::Residual(ResBlock {
            net: Branch {
                _0: Conv1d::new(init, same, true),
                _2: Conv1d::new(init, same, true),
                _4: Conv1d::new(init, ConvShape::same(channels, channels, 1), true),
            },
        })
    }

    fn point(init: &Init, inputs: usize, outputs: usize) -> Self {
        Self::Point(Conv1d::new(init, ConvShape::same(inputs, outputs, 1), true))
    }

    /// Runs the layer over `(batch, channels, frames)`.
    pub fn forward(&self, x_bct: Tensor<3>) -> Tensor<3> {
        match self {
            Self::Halve(layer) => relu(layer._0.forward(x_bct)),
            Self::Double(layer) => relu(layer._0.conv.forward(repeat_frames(x_bct))),
            Self::Residual(layer) => {
                let inner = relu(layer.net._0.forward(x_bct.clone()));
                let inner = relu(layer.net._2.forward(inner));
                x_bct + layer.net._4.forward(inner)
            }
            Self::Point(layer) => layer.forward(x_bct),
        }
    }
}

/// Makes the layers from a mel to vectors of the codebook's size.
pub(super) fn encoder(init: &Init, config: &DvaeConfig) -> Vec<Layer> {
    let mut layers: Vec<Layer> = config
        .halvings()
        .into_iter()
        .map(|(inputs, outputs)| {
            let same = ConvShape::same(inputs, outputs, config.kernel);
            let shape = ConvShape { stride: 2, ..same };
            Layer::Halve(Halve {
                _0: Conv1d::new(init, shape, true),
            })
        })
        .collect();
    let wide = config.innermost();
    layers.extend((0..config.resnet_blocks).map(|_| Layer::residual(init, wide, config.kernel)));
    layers.push(Layer::point(init, wide, config.codebook_dim));
    layers
}

/// Makes the layers from vectors of the codebook to a mel.
pub(super) fn decoder(init: &Init, config: &DvaeConfig) -> Vec<Layer> {
    let wide = config.innermost();
    let mut layers = vec![];
    if config.resnet_blocks > 0 {
        layers.push(Layer::point(init, config.codebook_dim, wide));
    }
    layers.extend((0..config.resnet_blocks).map(|_| Layer::residual(init, wide, config.kernel)));
    layers.extend(config.doublings().into_iter().map(|(inputs, outputs)| {
        let shape = ConvShape::same(inputs, outputs, config.kernel);
        Layer::Double(Double {
            _0: Upsampled {
                conv: Conv1d::new(init, shape, true),
            },
        })
    }));
    layers.push(Layer::point(init, config.hidden, config.channels));
    layers
}

/// Repeats every frame twice.
fn repeat_frames(x_bct: Tensor<3>) -> Tensor<3> {
    let [batch, channels, time] = x_bct.dims();
    x_bct
        .reshape([batch, channels, time, 1])
        .expand([batch, channels, time, 2])
        .reshape([batch, channels, 2 * time])
}
