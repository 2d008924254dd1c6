//! The speaker encoder: turns a waveform into the vector of its voice.

mod blocks;
mod config;

use blocks::{BatchNorm, Block, Conv2d};
pub use config::{SpeakerConfig, SpeakerConfigError};

use burn::module::Module;
use burn::tensor::Tensor;
use burn::tensor::activation::{relu, softmax};
use config::{ATTENTION, BlockShape};
use myxtts_audio::MelError;

use crate::init::Init;
use crate::layers::{Conv1d, ConvShape, Linear};
use crate::mel::DeviceMel;

/// The smallest variance, before its root is taken.
const LEAST_VARIANCE: f64 = 1e-5;
/// The smallest length that a vector is divided by when it is normalised.
const LEAST_LENGTH: f64 = 1e-12;

/// Computes the vector of a voice from a mel.
///
/// The checkpoint's `torch_spec.*` tensors are the window and filter bank of
/// [`myxtts_audio::MelSpec::SPEAKER`], and its `num_batches_tracked` counts steps of a training
/// long past: neither is a parameter here, and loading ignores them.
#[derive(Module, Debug)]
pub struct SpeakerEncoder {
    /// The first convolution, from one channel.
    conv1: Conv2d,
    /// The norm of the first convolution, after the ReLU.
    bn1: BatchNorm,
    /// The first stage, at the full rate.
    layer1: Vec<Block>,
    /// The second stage, at half the rate and bands.
    layer2: Vec<Block>,
    /// The third stage, again at half.
    layer3: Vec<Block>,
    /// The fourth stage, again at half.
    layer4: Vec<Block>,
    /// Weights the frames before they are pooled.
    pub attention: Attention,
    /// Projects the pooled channels to the embedding.
    fc: Linear,
}

/// Computes a weight for every frame of every channel.
#[derive(Module, Debug)]
pub struct Attention {
    /// To the channels inside.
    pub(crate) _0: Conv1d,
    /// The norm of the first layer, after the ReLU.
    pub(crate) _2: BatchNorm,
    /// Back to all channels.
    _3: Conv1d,
}

impl SpeakerEncoder {
    /// Makes a new encoder.
    pub fn new(init: &Init, config: &SpeakerConfig) -> Result<Self, SpeakerConfigError> {
        config.check()?;
        let [first, ..] = config.filters;
        let stem = BlockShape {
            inputs: 1,
            outputs: first,
            stride: 1,
        };
        let flat = config.flat();
        let [layer1, layer2, layer3, layer4] = config.stages().map(|stage| {
            stage
                .into_iter()
                .map(|shape| Block::new(init, shape))
                .collect()
        });
        Ok(Self {
            conv1: Conv2d::new(init, stem, 3, true),
            bn1: BatchNorm::new(init, first),
            layer1,
            layer2,
            layer3,
            layer4,
            attention: Attention {
                _0: Conv1d::new(init, ConvShape::same(flat, ATTENTION, 1), true),
                _2: BatchNorm::new(init, ATTENTION),
                _3: Conv1d::new(init, ConvShape::same(ATTENTION, flat, 1), true),
            },
            fc: Linear::new(init, 2 * flat, config.embedding_dim, true),
        })
    }

    /// Computes embeddings `(batch, channels)` of mels `(batch, bands, frames)` of any length.
    pub fn forward(&self, mel_bct: Tensor<3>) -> Tensor<2> {
        let [batch, bands, frames] = mel_bct.dims();
        let x_b1ft = mel_bct.reshape([batch, 1, bands, frames]);
        let x_bcft = self.bn1.forward(relu(self.conv1.forward(x_b1ft)));
        let stages = [&self.layer1, &self.layer2, &self.layer3, &self.layer4];
        let x_bcft = stages
            .into_iter()
            .flatten()
            .fold(x_bcft, |x, block| block.forward(x));
        let [_, channels, bands, frames] = x_bcft.dims();
        self.fc
            .forward(self.pooled(x_bcft.reshape([batch, channels * bands, frames])))
    }

    /// Returns mean and deviation over time, weighted by the attention.
    fn pooled(&self, x_bct: Tensor<3>) -> Tensor<2> {
        let [batch, channels, _] = x_bct.dims();
        let inner = self
            .attention
            ._2
            .forward(relu(self.attention._0.forward(x_bct.clone())));
        let weights_bct = softmax(self.attention._3.forward(inner), 2);
        let mean_bc1 = (x_bct.clone() * weights_bct.clone()).sum_dim(2);
        let square_bc1 = (x_bct.square() * weights_bct).sum_dim(2);
        let variance_bc1 = square_bc1 - mean_bc1.clone().square();
        let deviation_bc1 = variance_bc1.clamp_min(LEAST_VARIANCE).sqrt();
        Tensor::cat(vec![mean_bc1, deviation_bc1], 1).reshape([batch, 2 * channels])
    }

    /// Computes the embeddings of waveforms `(batch, samples)`, scaled to length 1.
    pub fn embed(&self, front_end: &DeviceMel, wave_bt: Tensor<2>) -> Result<Tensor<2>, MelError> {
        Ok(unit_length(self.forward(front_end.forward(wave_bt)?)))
    }
}

/// Scales each row to length 1.
pub fn unit_length(x_bc: Tensor<2>) -> Tensor<2> {
    let length_b1 = x_bc.clone().square().sum_dim(1).sqrt();
    x_bc / length_b1.clamp_min(LEAST_LENGTH)
}
