//! Latents of the GPT to a waveform, and what trains it.

mod config;
mod crossfade;
mod discriminator;
mod generator;
mod interpolate;
mod losses;

pub use config::{HifiganConfig, HifiganConfigError};
pub use crossfade::{CrossFade, Ending};
pub use discriminator::{
    Discriminator, DiscriminatorConfig, Judgement, PeriodDiscriminator, ScaleDiscriminator,
};
pub use generator::{Generator, ResBlock};
pub use interpolate::{interpolate, scaled_frames};
pub use losses::{MelLoss, discriminator_loss, feature_matching_loss, generator_adversarial_loss};

use burn::module::Module;
use burn::tensor::Tensor;

use crate::init::Init;

/// Latents to a waveform.
#[derive(Module, Debug)]
pub struct HifiganDecoder {
    /// Frames to samples.
    pub waveform_decoder: Generator,
    #[module(skip)]
    frames_per_code: f64,
    #[module(skip)]
    rate_ratio: f64,
}

impl HifiganDecoder {
    /// A new one.
    pub fn new(init: &Init, config: &HifiganConfig) -> Result<Self, HifiganConfigError> {
        config.check()?;
        Ok(Self {
            waveform_decoder: Generator::new(init, config),
            frames_per_code: config.code_stride as f64 / config.hop() as f64,
            rate_ratio: f64::from(config.output_rate) / f64::from(config.input_rate),
        })
    }

    /// The generator's frames `(batch, channels, frames)` of latents
    /// `(batch, codes, channels)`: to the hop first, then to the output's rate.
    pub fn frames(&self, latents_btc: Tensor<3>) -> Tensor<3> {
        let at_hop_bct = interpolate(latents_btc.swap_dims(1, 2), self.frames_per_code);
        if self.rate_ratio == 1.0 {
            at_hop_bct
        } else {
            interpolate(at_hop_bct, self.rate_ratio)
        }
    }

    /// The waveform `(batch, 1, samples)` of latents in the voice of `speaker_bc1`.
    pub fn forward(&self, latents_btc: Tensor<3>, speaker_bc1: Tensor<3>) -> Tensor<3> {
        let frames_bct = self.frames(latents_btc);
        self.waveform_decoder.forward(frames_bct, speaker_bc1)
    }

    /// With plain weights, for inference.
    #[must_use]
    pub fn folded(mut self) -> Self {
        self.waveform_decoder = self.waveform_decoder.folded();
        self
    }
}

/// Latents for speech `speed` times as fast, at least a twentieth.
pub fn at_speed(latents_btc: Tensor<3>, speed: f64) -> Tensor<3> {
    let scale = 1.0 / speed.max(0.05);
    interpolate(latents_btc.swap_dims(1, 2), scale).swap_dims(1, 2)
}
