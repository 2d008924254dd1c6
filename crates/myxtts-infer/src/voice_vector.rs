//! What the waveform decoder knows of a voice: a vector of length 1.

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
use crate::modules::state_dict;

/// In front of the names of the speaker encoder's tensors.
const SPEAKER_ENCODER: &str = "hifigan_decoder.speaker_encoder";
/// Samples the speaker encoder hears of each recording in a batch: four seconds.
const HEARD: usize = 4 * 16_000;

/// Makes vectors of voices on one device.
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
    /// For recordings at `rate`; `tensors` are those of the decoder, where a
    /// speaker encoder has its own.
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
        let encoder = params::load(encoder, &state_dict(tensors), SPEAKER_ENCODER);
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

    /// Vectors `(batch, channels, 1)` of recordings, whose latents in the GPT
    /// are `voice_bnd`.
    ///
    /// The speaker encoder hears the first four seconds of each, a shorter one
    /// again and again: one shape for all, and no silence that nobody spoke.
    pub fn of(&mut self, waves: &[&[f32]], voice_bnd: Tensor<3>) -> Result<Tensor<3>, InferError> {
        let Some(encoder) = &mut self.encoder else {
            let [rows, _, channels] = voice_bnd.dims();
            let mean_bd = voice_bnd.mean_dim(1).reshape([rows, channels]);
            return Ok(unit_length(mean_bd).reshape([rows, channels, 1]));
        };
        let mut heard: Vec<f32> = Vec::with_capacity(waves.len() * HEARD);
        for wave in waves {
            let wave = encoder.resampler.process(wave);
            let silence = [0.0];
            let wave = if wave.is_empty() { &silence[..] } else { &wave };
            heard.extend(wave.iter().cycle().take(HEARD));
        }
        let data = TensorData::new(heard, [waves.len(), HEARD]);
        let wave_bt = Tensor::<2>::from_data(data, &encoder.device);
        let vector_bc = encoder.encoder.embed(&encoder.mel, wave_bt)?;
        let [rows, channels] = vector_bc.dims();
        Ok(vector_bc.reshape([rows, channels, 1]))
    }
}
