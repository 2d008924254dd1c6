//! What the waveform decoder is conditioned on: a vector of length 1 for each voice.

use burn::tensor::{Device, Tensor, TensorData};
use myxtts_audio::units::SampleRate;
use myxtts_audio::{MelSpec, ResampleSpec, Resampler};
use myxtts_model::init::Init;
use myxtts_model::mel::DeviceMel;
use myxtts_model::params;
use myxtts_model::speaker::{SpeakerEncoder, unit_length};
use myxtts_weights::TensorMap;

use crate::card::VoiceKind;
use crate::error::InferError;
use crate::modules::InFile;

/// The prefix of the speaker encoder's tensors.
const SPEAKER_ENCODER: &str = "hifigan_decoder.speaker_encoder";
/// The samples of each recording that the speaker encoder uses in a batch: four seconds.
const HEARD: usize = 4 * 16_000;

/// Makes the vectors of voices on one device.
#[derive(Debug)]
pub struct VoiceVectors {
    encoder: Option<Box<Encoder>>,
}

#[derive(Debug)]
struct Encoder {
    encoder: SpeakerEncoder,
    mel: DeviceMel,
    resampler: Resampler,
    device: Device,
}

impl VoiceVectors {
    /// Prepares for recordings at `rate`; `tensors` are those of the decoder, which hold the
    /// speaker encoder's if it has one.
    pub fn new(
        kind: VoiceKind,
        tensors: &TensorMap,
        rate: SampleRate,
        device: &Device,
    ) -> Result<Self, InferError> {
        let VoiceKind::SpeakerEncoder(config) = kind else {
            return Ok(Self { encoder: None });
        };
        let device = device.clone().inner();
        let encoder = SpeakerEncoder::new(&Init::blank(&device), &config)?;
        let encoder = params::load(encoder, &InFile(tensors), SPEAKER_ENCODER);
        let encoder = encoder.map_err(|why| InferError::Load {
            part: "speaker encoder",
            why,
        })?;
        let spec = MelSpec {
            bands: config.bands,
            ..MelSpec::SPEAKER
        };
        Ok(Self {
            encoder: Some(Box::new(Encoder {
                encoder,
                mel: DeviceMel::new(spec, None, &device)?,
                resampler: Resampler::new(rate, SampleRate::SPEAKER, ResampleSpec::XTTS),
                device,
            })),
        })
    }

    /// Returns the speaker encoder, if the vectors come from one.
    pub(crate) fn speaker_encoder(&self) -> Option<&SpeakerEncoder> {
        self.encoder.as_ref().map(|encoder| &encoder.encoder)
    }

    /// Returns the vector `(1, channels, 1)` of one whole recording, whose latents in the GPT
    /// are `voice_1nd`.
    pub fn whole(&mut self, wave: &[f32], voice_1nd: Tensor<3>) -> Result<Tensor<3>, InferError> {
        match &mut self.encoder {
            None => Ok(of_latents(voice_1nd)),
            Some(encoder) => {
                let heard = encoder.resampler.process(wave);
                let length = heard.len();
                encoder.embed(heard, [1, length])
            }
        }
    }

    /// Returns the vectors `(batch, channels, 1)` of recordings, whose latents in the GPT are
    /// `voice_bnd`.
    ///
    /// The speaker encoder takes the first four seconds of each, and repeats a shorter one: that
    /// is one shape for all, without silence that nobody spoke.
    pub fn of(&mut self, waves: &[&[f32]], voice_bnd: Tensor<3>) -> Result<Tensor<3>, InferError> {
        let Some(encoder) = &mut self.encoder else {
            return Ok(of_latents(voice_bnd));
        };
        let mut heard: Vec<f32> = Vec::with_capacity(waves.len() * HEARD);
        for wave in waves {
            let wave = encoder.resampler.process(wave);
            let silence = [0.0];
            let wave = if wave.is_empty() { &silence[..] } else { &wave };
            heard.extend(wave.iter().cycle().take(HEARD));
        }
        encoder.embed(heard, [waves.len(), HEARD])
    }
}

impl Encoder {
    fn embed(&self, heard: Vec<f32>, shape: [usize; 2]) -> Result<Tensor<3>, InferError> {
        let wave_bt = Tensor::<2>::from_data(TensorData::new(heard, shape), &self.device);
        let vector_bc = self.encoder.embed(&self.mel, wave_bt)?;
        let [rows, channels] = vector_bc.dims();
        Ok(vector_bc.reshape([rows, channels, 1]))
    }
}

/// Returns the mean of the GPT's latents, scaled to length 1.
pub(crate) fn of_latents(voice_bnd: Tensor<3>) -> Tensor<3> {
    let [rows, _, channels] = voice_bnd.dims();
    let mean_bd = voice_bnd.mean_dim(1).reshape([rows, channels]);
    unit_length(mean_bd).reshape([rows, channels, 1])
}
