//! How similar the model itself finds what was spoken to the voice that was asked for.
//!
//! The model listens to its own speech as it listened to the voice, and the cosine between the
//! two is taken. This is not an independent judgement: a model that hears little difference
//! between speakers finds all speech similar. So the figure compares two utterances of one
//! model; it does not compare models.

use burn::tensor::Tensor;
use myxtts_audio::{ResampleSpec, Resampler, Waveform};
use serde::{Deserialize, Serialize};

use crate::card::VoiceKind;
use crate::error::InferError;
use crate::synthesizer::Synthesizer;
use crate::voice::Voice;

/// The model's own opinion of how similar two voices are.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Similarity {
    /// 1 for the same direction, 0 for nothing in common.
    pub cosine: f64,
    /// Which part of the two voices was compared.
    pub of: Compared,
}

/// The part of two voices that is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Compared {
    /// The vectors of the speaker encoder.
    SpeakerEncoder,
    /// The means of the latents that the GPT is conditioned on.
    ConditioningLatents,
}

impl Compared {
    /// Returns a phrase for the report.
    pub fn name(self) -> &'static str {
        match self {
            Self::SpeakerEncoder => "its speaker encoder",
            Self::ConditioningLatents => "its conditioning latents",
        }
    }
}

impl Synthesizer {
    /// Returns how similar speech is to the voice that was asked for.
    ///
    /// # Errors
    /// Returns an error if there is too little audio to hear a voice in.
    pub fn similarity(
        &mut self,
        asked: &Voice,
        spoken: &Waveform,
    ) -> Result<Similarity, InferError> {
        let heard = self.card().audio.sample_rate;
        let samples = match spoken.rate == heard {
            true => spoken.samples.clone(),
            false => {
                Resampler::new(spoken.rate, heard, ResampleSpec::XTTS).process(&spoken.samples)
            }
        };
        let spoken = self.voice(&[Waveform {
            samples,
            rate: heard,
        }])?;
        let kind = self.card().decoder.as_ref().map(|decoder| decoder.voice);
        let vectors = match (kind, &asked.vector_1c1, &spoken.vector_1c1) {
            (Some(VoiceKind::SpeakerEncoder(_)), Some(asked), Some(spoken)) => {
                Some((asked.clone(), spoken.clone()))
            }
            _ => None,
        };
        let (asked, spoken, of) = match vectors {
            Some((asked, spoken)) => (asked, spoken, Compared::SpeakerEncoder),
            None => {
                let mean = |voice: &Voice| voice.latents_1nd.clone().mean_dim(1);
                let of = Compared::ConditioningLatents;
                (mean(asked), mean(&spoken), of)
            }
        };
        let cosine = cosine(&numbers(asked)?, &numbers(spoken)?);
        Ok(Similarity { cosine, of })
    }
}

fn numbers(tensor: Tensor<3>) -> Result<Vec<f32>, InferError> {
    let numbers = tensor.try_into_vec_as::<f32>();
    numbers.map_err(|why| InferError::Device(why.to_string()))
}

fn cosine(one: &[f32], other: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| -> f64 {
        let products = a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b));
        products.sum()
    };
    let lengths = (dot(one, one) * dot(other, other)).sqrt();
    match lengths > 0.0 {
        true => dot(one, other) / lengths,
        false => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cosines() {
        assert!((cosine(&[3.0, 4.0], &[6.0, 8.0]) - 1.0).abs() < 1e-12);
        assert!((cosine(&[3.0, 4.0], &[-4.0, 3.0])).abs() < 1e-12);
        assert!((cosine(&[1.0, 0.0], &[1.0, 1.0]) - 0.5_f64.sqrt()).abs() < 1e-7);
        assert_eq!(cosine(&[0.0], &[1.0]), 0.0);
    }
}
