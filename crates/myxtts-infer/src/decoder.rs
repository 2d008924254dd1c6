//! The waveform decoder of a model, and how it conditions on voices.

use burn::tensor::{Device, Tensor};
use myxtts_audio::units::SampleRate;
use myxtts_model::hifigan::{HifiganDecoder, SpeakingDecoder, WaveStream};
use myxtts_model::init::Init;
use myxtts_model::params;
use myxtts_model::speaker::SpeakerEncoder;
use myxtts_weights::ModelWeights;
use serde::{Deserialize, Serialize};

use crate::card::ModelCard;
use crate::error::InferError;
use crate::modules::InFile;
use crate::voice::Voice;
use crate::voice_vector::VoiceVectors;

/// The prefix of the decoder's tensors in a checkpoint.
const DECODER: &str = "hifigan_decoder";

/// What turns the output of the GPT into a waveform.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Vocoder {
    /// The model's own decoder, from the GPT's latents.
    Hifigan,
    /// Griffin-Lim, from the mel that the DVAE makes of the codes.
    GriffinLim,
}

impl Vocoder {
    /// Returns the name that `--vocoder` takes.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hifigan => "hifigan",
            Self::GriffinLim => "griffin-lim",
        }
    }
}

/// The waveform decoder, ready to speak.
#[derive(Debug)]
pub struct Decoder {
    pub(crate) hifigan: SpeakingDecoder,
    pub(crate) rate: SampleRate,
    vectors: VoiceVectors,
}

impl Decoder {
    /// Loads the decoder of a checkpoint; `None` if it has none.
    pub fn load(
        checkpoint: &ModelWeights,
        card: &ModelCard,
        device: &Device,
    ) -> Result<Option<Self>, InferError> {
        let Some(decoder) = &card.decoder else {
            return Ok(None);
        };
        let tensors = &checkpoint.hifigan_decoder;
        let part = "waveform decoder";
        let device = device.clone().inner();
        let hifigan = HifiganDecoder::new(&Init::blank(&device), &decoder.hifigan)?;
        let hifigan = params::load(hifigan, &InFile(tensors), DECODER)
            .map_err(|why| InferError::Load { part, why })?;
        let heard = card.audio.sample_rate;
        Ok(Some(Self {
            hifigan: hifigan.for_speaking(),
            rate: SampleRate::new(decoder.hifigan.output_rate).unwrap_or(SampleRate::VOCODER),
            vectors: VoiceVectors::new(decoder.voice, tensors, heard, &device)?,
        }))
    }

    /// Returns the speaker encoder, if the decoder has one.
    pub(crate) fn speaker_encoder(&self) -> Option<&SpeakerEncoder> {
        self.vectors.speaker_encoder()
    }

    /// Opens a waveform in a voice, to be fed one latent per code.
    pub(crate) fn stream(&self, voice: &Voice, speed: f64) -> Result<WaveStream, InferError> {
        let Some(vector_1c1) = voice.vector_1c1.clone() else {
            return Err(InferError::NoVoiceVector);
        };
        Ok(WaveStream::new(&self.hifigan, vector_1c1, speed)?)
    }

    /// Returns the vector `(1, channels, 1)` of a voice: the mean over its recordings, not
    /// scaled to length 1 again, as in the public implementation.
    pub(crate) fn vector(
        &mut self,
        recordings: &[Vec<f32>],
        latents_1nd: Tensor<3>,
    ) -> Result<Tensor<3>, InferError> {
        let vectors = recordings
            .iter()
            .map(|wave| self.vectors.whole(wave, latents_1nd.clone()));
        let vectors: Vec<Tensor<3>> = vectors.collect::<Result<_, _>>()?;
        Ok(Tensor::cat(vectors, 0).mean_dim(0))
    }
}
