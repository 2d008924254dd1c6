//! The waveform decoder, from latents of the GPT to sound, with the losses and discriminators
//! that train it.

mod config;
mod discriminator;
mod generator;
mod interpolate;
mod losses;
mod stream;

pub use config::{HifiganConfig, HifiganConfigError};
pub use discriminator::{Discriminator, DiscriminatorConfig, DiscriminatorOutput};
pub use generator::{Generator, ResBlock};
pub use interpolate::{FrameRates, interpolate};
pub use losses::{
    MelLoss, SpectralLoss, discriminator_loss, feature_matching_loss, generator_adversarial_loss,
};
pub use stream::{SpeakingDecoder, WaveError, WaveStream};

use burn::module::Module;
use burn::tensor::Tensor;

use crate::init::Init;

/// The waveform decoder: turns latents into a waveform.
#[derive(Module, Debug)]
pub struct HifiganDecoder {
    /// The generator, which turns frames into samples.
    pub waveform_decoder: Generator,
    #[module(skip)]
    rates: FrameRates,
}

impl HifiganDecoder {
    /// Makes a new decoder.
    pub fn new(init: &Init, config: &HifiganConfig) -> Result<Self, HifiganConfigError> {
        config.check()?;
        Ok(Self {
            waveform_decoder: Generator::new(init, config),
            rates: config.rates(),
        })
    }

    /// Returns the generator's frames of latents, see [`FrameRates::frames`].
    pub fn frames(&self, latents_btc: Tensor<3>) -> Tensor<3> {
        self.rates.frames(latents_btc)
    }

    /// Returns the waveform `(batch, 1, samples)` of latents in the voice of `speaker_bc1`.
    pub fn forward(&self, latents_btc: Tensor<3>, speaker_bc1: Tensor<3>) -> Tensor<3> {
        let frames_bct = self.frames(latents_btc);
        self.waveform_decoder.forward(frames_bct, speaker_bc1)
    }

    /// Folds weight norm into plain weights, for inference.
    #[must_use]
    pub fn folded(mut self) -> Self {
        self.waveform_decoder = self.waveform_decoder.folded();
        self
    }
}

/// Stretches latents to speech that is `speed` times as fast; at least a twentieth.
pub fn at_speed(latents_btc: Tensor<3>, speed: f64) -> Tensor<3> {
    let scale = 1.0 / speed.max(0.05);
    interpolate(latents_btc.swap_dims(1, 2), scale).swap_dims(1, 2)
}
