//! The discriminators the generator is trained against: one set hears every n-th sample, the
//! other the whole wave at falling rates.

use burn::module::Module;
use burn::tensor::Tensor;
use burn::tensor::activation::leaky_relu;
use burn::tensor::module::avg_pool1d;
use burn::tensor::ops::{AvgPoolOptions, PadMode};
use serde::{Deserialize, Serialize};

use super::config::HifiganConfigError;
use crate::init::Init;
use crate::layers::ConvShape;
use crate::weight_norm::NormedConv1d;

const SLOPE: f64 = 0.1;

/// Sizes of the discriminators.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiscriminatorConfig {
    /// Distances between the samples that the first set hears.
    pub periods: Vec<usize>,
    /// Channels of the first layer of the first set.
    pub period_channels: usize,
    /// The number of rates the second set hears, each half the one before.
    pub scales: usize,
    /// Channels of the first layer of the second set; a multiple of 16.
    pub scale_channels: usize,
}

impl DiscriminatorConfig {
    /// Returns HiFi-GAN's own sizes.
    pub(crate) fn released() -> Self {
        Self {
            periods: vec![2, 3, 5, 7, 11],
            period_channels: 32,
            scales: 3,
            scale_channels: 128,
        }
    }

    /// Returns sizes for a small generator, on a CPU.
    pub fn tiny() -> Self {
        Self {
            period_channels: 4,
            scale_channels: 16,
            ..Self::released()
        }
    }

    /// Refuses sizes that no discriminator can have.
    pub(crate) fn check(&self) -> Result<(), HifiganConfigError> {
        let fault = if self.periods.is_empty() && self.scales == 0 {
            "no discriminator: give it periods or scales"
        } else if self.periods.contains(&0) || self.period_channels == 0 {
            "periods and period_channels must be at least 1"
        } else if self.scale_channels == 0 || !self.scale_channels.is_multiple_of(16) {
            "scale_channels must be a multiple of 16, the number of groups"
        } else {
            return Ok(());
        };
        Err(HifiganConfigError(fault.to_owned()))
    }

    /// Counts the trained parameters without making any.
    pub fn parameters(&self) -> usize {
        // Each output has its taps, a bias and a length of weight norm.
        let conv = |inputs: usize, outputs: usize, kernel: usize| (inputs * kernel + 2) * outputs;
        let widths = period_widths(self.period_channels);
        let pairs = widths.iter().zip(widths.iter().skip(1));
        let period: usize = pairs.map(|(i, o)| conv(*i, *o, 5)).sum();
        let period = period + conv(32 * self.period_channels, 1, 3);
        let layers = scale_layers(self.scale_channels).into_iter();
        let scale: usize = layers
            .map(|(inputs, outputs, kernel, _, groups)| conv(inputs / groups, outputs, kernel))
            .sum();
        let scale = scale + conv(8 * self.scale_channels, 1, 3);
        self.periods.len() * period + self.scales * scale
    }

    /// Counts the numbers that the layers of all discriminators put out for a wave of `samples`
    /// samples.
    pub fn outputs(&self, samples: usize) -> usize {
        let widths = period_widths(self.period_channels);
        let mut length = samples;
        let mut period = 0;
        for (index, width) in widths.iter().enumerate().skip(1) {
            length = match index + 1 == widths.len() {
                true => length,
                false => length.div_ceil(3),
            };
            period += length * width;
        }
        let scale = |index: usize| -> usize {
            let mut length = samples >> index;
            let layers = scale_layers(self.scale_channels).into_iter();
            let outputs = layers.map(|(_, outputs, _, stride, _)| {
                length = length.div_ceil(stride);
                length * outputs
            });
            outputs.sum()
        };
        self.periods.len() * period + (0..self.scales).map(scale).sum::<usize>()
    }
}

/// Returns the channels of a period's discriminator, its input first.
fn period_widths(base: usize) -> [usize; 6] {
    [1, base, 4 * base, 16 * base, 32 * base, 32 * base]
}

/// Returns channels in and out, taps, step and groups of each layer of a scale's discriminator.
fn scale_layers(base: usize) -> [(usize, usize, usize, usize, usize); 7] {
    [
        (1, base, 15, 1, 1),
        (base, base, 41, 2, 4),
        (base, 2 * base, 41, 2, 16),
        (2 * base, 4 * base, 41, 4, 16),
        (4 * base, 8 * base, 41, 4, 16),
        (8 * base, 8 * base, 41, 1, 16),
        (8 * base, 8 * base, 5, 1, 1),
    ]
}

/// The verdict of one discriminator on a batch.
#[derive(Clone, Debug)]
pub struct DiscriminatorOutput {
    /// The score: towards 1 for real speech, 0 for generated.
    pub score: Tensor<3>,
    /// The output of each layer, the score last.
    pub features: Vec<Tensor<3>>,
}

/// The discriminators of both sets.
#[derive(Module, Debug)]
pub struct Discriminator {
    /// One discriminator for each period.
    mpd: Vec<PeriodDiscriminator>,
    /// One discriminator for each rate.
    msd: Vec<ScaleDiscriminator>,
}

/// A discriminator that hears every n-th sample.
#[derive(Module, Debug)]
pub(crate) struct PeriodDiscriminator {
    /// All but the last layer.
    pub(crate) convs: Vec<NormedConv1d>,
    /// The last layer, to one channel.
    pub(crate) conv_post: NormedConv1d,
    #[module(skip)]
    period: usize,
}

/// A discriminator that hears the wave at one rate.
#[derive(Module, Debug)]
pub(crate) struct ScaleDiscriminator {
    /// All but the last layer.
    pub(crate) convs: Vec<NormedConv1d>,
    /// The last layer, to one channel.
    pub(crate) conv_post: NormedConv1d,
}

impl Discriminator {
    /// Makes new discriminators of both sets.
    pub fn new(init: &Init, config: &DiscriminatorConfig) -> Result<Self, HifiganConfigError> {
        config.check()?;
        let period = |&period: &usize| PeriodDiscriminator::new(init, period, config);
        Ok(Self {
            mpd: config.periods.iter().map(period).collect(),
            msd: (0..config.scales)
                .map(|_| ScaleDiscriminator::new(init, config.scale_channels))
                .collect(),
        })
    }

    /// Runs each discriminator on waveforms `(batch, 1, samples)`.
    pub fn forward(&self, wave_b1t: Tensor<3>) -> Vec<DiscriminatorOutput> {
        let mut outputs: Vec<DiscriminatorOutput> = self
            .mpd
            .iter()
            .map(|discriminator| discriminator.forward(wave_b1t.clone()))
            .collect();
        let halving = AvgPoolOptions::new([4]).with_stride([2]).with_padding([2]);
        let mut wave_b1t = wave_b1t;
        for (index, discriminator) in self.msd.iter().enumerate() {
            if index > 0 {
                wave_b1t = avg_pool1d(wave_b1t, halving.clone());
            }
            outputs.push(discriminator.forward(wave_b1t.clone()));
        }
        outputs
    }
}

impl PeriodDiscriminator {
    fn new(init: &Init, period: usize, config: &DiscriminatorConfig) -> Self {
        let base = config.period_channels;
        let widths = period_widths(base);
        let last = widths.len() - 2;
        let pairs = widths.iter().zip(widths.iter().skip(1)).enumerate();
        let convs = pairs.map(|(index, (&inputs, &outputs))| {
            let shape = ConvShape {
                stride: if index == last { 1 } else { 3 },
                ..ConvShape::same(inputs, outputs, 5)
            };
            NormedConv1d::new(init, shape)
        });
        Self {
            convs: convs.collect(),
            conv_post: NormedConv1d::new(init, ConvShape::same(32 * base, 1, 3)),
            period,
        }
    }

    fn forward(&self, wave_b1t: Tensor<3>) -> DiscriminatorOutput {
        run_layers(&self.convs, &self.conv_post, phases(wave_b1t, self.period))
    }
}

/// Puts the samples of each phase of a period into a batch of their own: a kernel one phase wide
/// over a table is the same as a kernel over its columns.
fn phases(wave_b1t: Tensor<3>, period: usize) -> Tensor<3> {
    let [batch, _, length] = wave_b1t.dims();
    let missing = length.next_multiple_of(period) - length;
    let wave_b1t = if missing > 0 {
        wave_b1t.pad([(0, missing)], PadMode::Reflect)
    } else {
        wave_b1t
    };
    let rows = (length + missing) / period;
    wave_b1t
        .reshape([batch, rows, period])
        .swap_dims(1, 2)
        .reshape([batch * period, 1, rows])
}

impl ScaleDiscriminator {
    fn new(init: &Init, base: usize) -> Self {
        let layers = scale_layers(base);
        let convs = layers.map(|(inputs, outputs, kernel, stride, groups)| {
            let same = ConvShape::same(inputs, outputs, kernel);
            NormedConv1d::grouped(init, ConvShape { stride, ..same }, groups)
        });
        Self {
            convs: convs.into(),
            conv_post: NormedConv1d::new(init, ConvShape::same(8 * base, 1, 3)),
        }
    }

    fn forward(&self, wave_b1t: Tensor<3>) -> DiscriminatorOutput {
        run_layers(&self.convs, &self.conv_post, wave_b1t)
    }
}

fn run_layers(
    convs: &[NormedConv1d],
    conv_post: &NormedConv1d,
    x_bct: Tensor<3>,
) -> DiscriminatorOutput {
    let mut features = Vec::with_capacity(convs.len() + 1);
    let mut x_bct = x_bct;
    for conv in convs {
        x_bct = leaky_relu(conv.forward(x_bct), SLOPE);
        features.push(x_bct.clone());
    }
    let score = conv_post.forward(x_bct);
    features.push(score.clone());
    DiscriminatorOutput { score, features }
}
