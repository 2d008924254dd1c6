//! The generator, from frames to samples.

use burn::module::Module;
use burn::tensor::Tensor;

use super::config::HifiganConfig;
use crate::init::Init;
use crate::layers::{Conv1d, ConvShape};
use crate::weight_norm::{NormedConv1d, NormedConvTranspose1d};

pub(super) const SLOPE: f64 = 0.1;
/// The reference leaves the last slope at the library's default.
pub(super) const LAST_SLOPE: f64 = 0.01;

/// Turns frames into samples, in the voice of a speaker.
#[derive(Module, Debug)]
pub struct Generator {
    /// The convolution before the stages.
    pub conv_pre: Conv1d,
    /// One transposed convolution per stage.
    pub ups: Vec<NormedConvTranspose1d>,
    /// The residual blocks of all stages, stage by stage.
    pub(crate) resblocks: Vec<ResBlock>,
    /// The last convolution, to one channel.
    pub(crate) conv_post: Conv1d,
    /// Adds the speaker before the stages.
    pub cond_layer: Conv1d,
    /// Adds the speaker at each stage; empty if it is not added there.
    pub(crate) conds: Vec<Conv1d>,
}

/// A residual block of pairs of convolutions, the first of each dilated.
#[derive(Module, Debug)]
pub struct ResBlock {
    /// The dilated convolutions of the pairs.
    pub(crate) convs1: Vec<NormedConv1d>,
    /// The second convolutions, which are not dilated.
    pub(crate) convs2: Vec<NormedConv1d>,
}

impl ResBlock {
    fn new(init: &Init, channels: usize, kernel: usize, dilations: &[usize]) -> Self {
        let conv = |dilation: usize| {
            let shape = ConvShape {
                dilation,
                padding: dilation * (kernel - 1) / 2,
                ..ConvShape::same(channels, channels, kernel)
            };
            NormedConv1d::new(init, shape)
        };
        Self {
            convs1: dilations.iter().map(|&dilation| conv(dilation)).collect(),
            convs2: dilations.iter().map(|_| conv(1)).collect(),
        }
    }

    fn forward(&self, x_bct: Tensor<3>) -> Tensor<3> {
        let pairs = self.convs1.iter().zip(&self.convs2);
        pairs.fold(x_bct, |x_bct, (first, second)| {
            let inner = first.after(x_bct.clone(), Some(SLOPE));
            second.after(inner, Some(SLOPE)) + x_bct
        })
    }

    fn folded(self) -> Self {
        let fold = |convs: Vec<NormedConv1d>| convs.into_iter().map(NormedConv1d::folded).collect();
        Self {
            convs1: fold(self.convs1),
            convs2: fold(self.convs2),
        }
    }
}

impl Generator {
    /// Makes a new generator, of sizes that were checked.
    pub(super) fn new(init: &Init, config: &HifiganConfig) -> Self {
        let stages = config.upsample_rates.len();
        let pairs = config.upsample_rates.iter().zip(&config.upsample_kernels);
        let ups = pairs.enumerate().map(|(stage, (&rate, &kernel))| {
            let (inputs, outputs) = (config.width(stage), config.width(stage + 1));
            NormedConvTranspose1d::new(init, inputs, outputs, kernel, rate)
        });
        let blocks = config
            .resblock_kernels
            .iter()
            .zip(&config.resblock_dilations);
        let resblocks = (1..=stages).flat_map(|stage| {
            blocks.clone().map(move |(&kernel, dilations)| {
                ResBlock::new(init, config.width(stage), kernel, dilations)
            })
        });
        let speaker = |channels: usize| {
            Conv1d::new(init, ConvShape::same(config.speaker_dim, channels, 1), true)
        };
        let conditioned = if config.speaker_in_each_stage {
            stages
        } else {
            0
        };
        Self {
            conv_pre: Conv1d::new(
                init,
                ConvShape::same(config.latent_dim, config.channels, 7),
                true,
            ),
            ups: ups.collect(),
            resblocks: resblocks.collect(),
            conv_post: Conv1d::new(init, ConvShape::same(config.width(stages), 1, 7), false),
            cond_layer: speaker(config.channels),
            conds: (1..=conditioned)
                .map(|stage| speaker(config.width(stage)))
                .collect(),
        }
    }

    /// Returns the samples `(batch, 1, frames * hop)` of frames `(batch, channels, frames)` in
    /// the voice of `speaker_bc1`.
    pub fn forward(&self, frames_bct: Tensor<3>, speaker_bc1: Tensor<3>) -> Tensor<3> {
        let mut x_bct =
            self.conv_pre.after(frames_bct, None) + self.cond_layer.forward(speaker_bc1.clone());
        let per_stage = self.resblocks.len() / self.ups.len().max(1);
        let stages = self.ups.iter().zip(self.resblocks.chunks(per_stage.max(1)));
        for (stage, (up, blocks)) in stages.enumerate() {
            x_bct = up.after(x_bct, Some(SLOPE));
            if let Some(cond) = self.conds.get(stage) {
                x_bct = x_bct + cond.forward(speaker_bc1.clone());
            }
            let sum = blocks
                .iter()
                .map(|block| block.forward(x_bct.clone()))
                .reduce(|a, b| a + b);
            if let Some(sum) = sum {
                x_bct = sum / blocks.len() as f64;
            }
        }
        self.conv_post.after(x_bct, Some(LAST_SLOPE)).tanh()
    }

    /// Returns the samples of a frame.
    pub(super) fn hop(&self) -> usize {
        self.ups.iter().map(NormedConvTranspose1d::stride).product()
    }

    /// Returns the most frames that a sample hears on each side of its own.
    pub(super) fn reach(&self) -> usize {
        let padding = |shape: ConvShape| shape.padding as f64;
        let per_stage = self.resblocks.len() / self.ups.len().max(1);
        let mut reach = padding(self.conv_pre.shape());
        let mut rate = 1.0;
        for (up, blocks) in self.ups.iter().zip(self.resblocks.chunks(per_stage.max(1))) {
            let [_, _, kernel] = up.weight().dims();
            reach += kernel.div_ceil(up.stride().max(1)) as f64 / rate;
            rate *= up.stride() as f64;
            let block = |block: &ResBlock| {
                let convs = block.convs1.iter().chain(&block.convs2);
                convs.map(|conv| padding(conv.shape())).sum::<f64>()
            };
            reach += blocks.iter().map(block).fold(0.0, f64::max) / rate;
        }
        reach += padding(self.conv_post.shape()) / rate;
        rounded_up(reach)
    }

    /// Folds weight norm into plain weights, for inference.
    #[must_use]
    pub(crate) fn folded(mut self) -> Self {
        self.ups = self
            .ups
            .into_iter()
            .map(NormedConvTranspose1d::folded)
            .collect();
        self.resblocks = self.resblocks.into_iter().map(ResBlock::folded).collect();
        self
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a few frames"
)]
fn rounded_up(frames: f64) -> usize {
    frames.ceil() as usize
}
