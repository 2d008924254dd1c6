//! Sizes of the waveform decoder, and what follows from them.

use serde::{Deserialize, Serialize};

use super::discriminator::DiscriminatorConfig;
use super::interpolate::FrameRates;

/// Sizes of the waveform decoder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HifiganConfig {
    /// The sample rate that the codes were made at, in Hz.
    pub input_rate: u32,
    /// The sample rate of the waveform, in Hz.
    pub output_rate: u32,
    /// Samples of a code, at the input rate.
    pub code_stride: usize,
    /// Channels of a latent.
    pub latent_dim: usize,
    /// Channels of a speaker embedding.
    pub speaker_dim: usize,
    /// Channels before the first stage; each stage halves them.
    pub channels: usize,
    /// Frames that each stage makes of one; their product is the hop.
    pub upsample_rates: Vec<usize>,
    /// Taps of each stage.
    pub upsample_kernels: Vec<usize>,
    /// Taps of the residual blocks of a stage.
    pub resblock_kernels: Vec<usize>,
    /// Dilations inside each of these blocks.
    pub resblock_dilations: Vec<Vec<usize>>,
    /// Whether the speaker is added at each stage, and not only before the first.
    pub speaker_in_each_stage: bool,
}

/// Sizes that no waveform decoder can have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this waveform decoder is impossible: {0}")]
pub struct HifiganConfigError(pub String);

impl HifiganConfig {
    /// Returns the sizes of the released XTTS v2.
    pub fn released() -> Self {
        Self {
            input_rate: 22_050,
            output_rate: 24_000,
            code_stride: 1024,
            latent_dim: 1024,
            speaker_dim: 512,
            channels: 512,
            upsample_rates: vec![8, 8, 2, 2],
            upsample_kernels: vec![16, 16, 4, 4],
            resblock_kernels: vec![3, 7, 11],
            resblock_dilations: vec![vec![1, 3, 5]; 3],
            speaker_in_each_stage: true,
        }
    }

    /// Returns sizes for the latents of a small GPT, on a CPU. With half as many channels only 4
    /// are left at the full rate, and the same recordings teach it less (benchmarks/decoder.md).
    pub fn tiny(latent_dim: usize, speaker_dim: usize) -> Self {
        Self {
            latent_dim,
            speaker_dim,
            channels: 128,
            ..Self::released()
        }
    }

    /// Returns the discriminators for a generator of this width: a narrow one learns nothing from
    /// discriminators that are never wrong.
    pub fn discriminator(&self) -> DiscriminatorConfig {
        if self.channels < Self::released().channels / 2 {
            DiscriminatorConfig::tiny()
        } else {
            DiscriminatorConfig::released()
        }
    }

    /// Returns the rates by which codes become the generator's frames.
    pub fn rates(&self) -> FrameRates {
        FrameRates {
            per_code: self.code_stride as f64 / self.hop() as f64,
            ratio: f64::from(self.output_rate) / f64::from(self.input_rate),
        }
    }

    /// Returns the samples of a frame.
    pub fn hop(&self) -> usize {
        self.upsample_rates.iter().product()
    }

    /// Returns the channels after `stages` stages.
    pub(super) fn width(&self, stages: usize) -> usize {
        self.channels >> stages
    }

    /// Refuses sizes that no waveform decoder can have.
    pub fn check(&self) -> Result<(), HifiganConfigError> {
        let refuse = |why: String| Err(HifiganConfigError(why));
        let stages = self.upsample_rates.len();
        if self.upsample_kernels.len() != stages {
            return refuse(format!(
                "there are {stages} upsample_rates and {} upsample_kernels",
                self.upsample_kernels.len()
            ));
        }
        if self.resblock_kernels.len() != self.resblock_dilations.len() {
            return refuse(format!(
                "there are {} resblock_kernels and {} resblock_dilations",
                self.resblock_kernels.len(),
                self.resblock_dilations.len()
            ));
        }
        let pairs = self.upsample_rates.iter().zip(&self.upsample_kernels);
        for (&rate, &kernel) in pairs {
            if rate == 0 || kernel < rate || (kernel - rate) % 2 == 1 {
                return refuse(format!(
                    "a stage of rate {rate} with {kernel} taps; \
                     taps minus rate must be even and not negative"
                ));
            }
        }
        if let Some(kernel) = self.resblock_kernels.iter().find(|kernel| *kernel % 2 == 0) {
            return refuse(format!("a residual block of {kernel} taps, an even number"));
        }
        if stages >= usize::BITS as usize || self.width(stages) == 0 {
            return refuse(format!(
                "{} channels cannot be halved {stages} times",
                self.channels
            ));
        }
        if self.resblock_kernels.is_empty()
            || [self.latent_dim, self.speaker_dim, self.code_stride].contains(&0)
            || self.input_rate == 0
            || self.output_rate == 0
        {
            return refuse("a size is 0".to_owned());
        }
        Ok(())
    }

    /// Counts the trained parameters without making any.
    pub fn parameters(&self) -> usize {
        let conv = |inputs: usize, outputs: usize, kernel: usize| (inputs * kernel + 1) * outputs;
        let mut sum = conv(self.latent_dim, self.channels, 7)
            + conv(self.speaker_dim, self.channels, 1)
            + self.width(self.upsample_rates.len()) * 7;
        for (stage, &kernel) in self.upsample_kernels.iter().enumerate() {
            let (inputs, outputs) = (self.width(stage), self.width(stage + 1));
            // Weight norm has a length for each slice of the weight's first dimension.
            sum += conv(inputs, outputs, kernel) + inputs;
            if self.speaker_in_each_stage {
                sum += conv(self.speaker_dim, outputs, 1);
            }
            for (&kernel, dilations) in self.resblock_kernels.iter().zip(&self.resblock_dilations) {
                let each = conv(outputs, outputs, kernel) + outputs;
                sum += 2 * dilations.len() * each;
            }
        }
        sum
    }

    /// Counts the numbers that the generator's layers put out for each frame.
    pub fn outputs_per_frame(&self) -> usize {
        let convs: usize = self.resblock_dilations.iter().map(|d| 2 * d.len()).sum();
        let mut samples = 1;
        let mut sum = self.channels;
        for (stage, rate) in self.upsample_rates.iter().enumerate() {
            samples *= rate;
            // The stage itself, its convolutions and the mean of its blocks.
            sum += samples * self.width(stage + 1) * (convs + 2);
        }
        sum + samples
    }
}
