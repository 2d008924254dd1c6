//! A waveform while its latents are still being made.
//!
//! ```text
//! latents ─> frames by their index in the whole ─> generator ─> samples
//! ```
//!
//! A sample is given out when everything it hears is known, to its left and to its right, so that
//! it never changes: whatever the pieces, together they are the waveform of
//! [`HifiganDecoder::forward`](super::HifiganDecoder::forward), and there is nothing to fade. On
//! the CPU each layer of the generator keeps the columns it still needs, and computes every
//! column once; other devices decode the new frames together with the neighbours that they hear.

mod frames;
mod host;
mod window;

use burn::module::Module;
use burn::tensor::Tensor;
use myxtts_base::report;

use frames::Interpolation;
use host::{HostGenerator, HostStream};
use window::WindowStream;

use super::HifiganDecoder;
use super::interpolate::FrameRates;

/// The waveform could not be read from the device.
#[derive(Clone, Debug, thiserror::Error)]
#[error(
    "{}",
    report!(
        "the waveform could not be read from the device: {}", .0;
        why: "a device out of memory does this";
        fix: "speak shorter texts or use another device"
    )
)]
pub struct WaveError(pub String);

/// A decoder without gradients, with its weights laid out for speaking.
///
/// Made once, by [`HifiganDecoder::for_speaking`].
#[derive(Clone, Debug)]
pub struct SpeakingDecoder {
    decoder: HifiganDecoder,
    host: Option<HostGenerator>,
}

impl HifiganDecoder {
    /// Prepares the decoder for speaking: without gradients or weight norm, and on the CPU with
    /// convolutions of our own.
    pub fn for_speaking(&self) -> SpeakingDecoder {
        let decoder = self.valid().folded();
        let host = HostGenerator::of(&decoder.waveform_decoder);
        SpeakingDecoder { decoder, host }
    }
}

impl SpeakingDecoder {
    /// Speaks with the engine's operations, which every device has. On the CPU they are what the
    /// faster path is compared with.
    pub fn plain(decoder: &HifiganDecoder) -> Self {
        Self {
            decoder: decoder.valid().folded(),
            host: None,
        }
    }

    /// Returns the whole waveform of latents, which a [`WaveStream`] returns in parts.
    pub fn waveform(
        &self,
        latents_1nd: Tensor<3>,
        speaker_1c1: Tensor<3>,
        speed: f64,
    ) -> Result<Vec<f32>, WaveError> {
        let mut stream = WaveStream::new(self, speaker_1c1, speed)?;
        let mut samples = stream.push(latents_1nd)?;
        samples.extend(stream.finish()?);
        Ok(samples)
    }
}

/// A waveform in progress.
#[derive(Debug)]
pub struct WaveStream {
    /// Interpolations of latents: to another speed, to the hop, to the output's rate.
    stages: Vec<Interpolation>,
    generator: GeneratorStream,
}

#[derive(Debug)]
enum GeneratorStream {
    Host(Box<HostStream>),
    Window(Box<WindowStream>),
}

impl WaveStream {
    /// Starts a waveform before its first latent, in the voice of `speaker_1c1`, for speech that
    /// is `speed` times as fast (at least a twentieth).
    pub fn new(
        decoder: &SpeakingDecoder,
        speaker_1c1: Tensor<3>,
        speed: f64,
    ) -> Result<Self, WaveError> {
        let speaker_1c1 = speaker_1c1.inner();
        let FrameRates { per_code, ratio } = decoder.decoder.rates;
        let scales = [1.0 / speed.max(0.05), per_code, ratio];
        let latent_dim = decoder.decoder.waveform_decoder.conv_pre.weight.dims()[1];
        let stages = scales.into_iter().filter(|scale| *scale != 1.0);
        let generator = &decoder.decoder.waveform_decoder;
        let generator = match &decoder.host {
            Some(host) => {
                let voice = host.voice(generator, speaker_1c1)?;
                GeneratorStream::Host(Box::new(HostStream::new(host.clone(), voice)))
            }
            None => {
                GeneratorStream::Window(Box::new(WindowStream::new(generator.clone(), speaker_1c1)))
            }
        };
        Ok(Self {
            stages: stages
                .map(|scale| Interpolation::new(latent_dim, scale))
                .collect(),
            generator,
        })
    }

    /// Takes the next latents, `(1, codes, channels)`, and returns every sample that is now
    /// certain.
    pub fn push(&mut self, latents_1nd: Tensor<3>) -> Result<Vec<f32>, WaveError> {
        let latents = latents_1nd
            .inner()
            .try_into_vec_as::<f32>()
            .map_err(|why| WaveError(why.to_string()))?;
        self.decode(latents, false)
    }

    /// Ends the waveform, and returns its last samples.
    pub fn finish(mut self) -> Result<Vec<f32>, WaveError> {
        self.decode(vec![], true)
    }

    fn decode(&mut self, mut frames: Vec<f32>, last: bool) -> Result<Vec<f32>, WaveError> {
        for stage in &mut self.stages {
            frames = stage.push(&frames, last);
        }
        match &mut self.generator {
            GeneratorStream::Host(stream) => Ok(stream.push(&frames, last)),
            GeneratorStream::Window(stream) => stream.push(frames, last),
        }
    }
}
