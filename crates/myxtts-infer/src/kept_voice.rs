//! Writes a model's voices to files and reads them back.

use burn::tensor::{Tensor, TensorData};
use myxtts_model::params;

use crate::card::VoiceKind;
use crate::error::InferError;
use crate::fingerprint::Fingerprint;
use crate::synthesizer::Synthesizer;
use crate::voice::Voice;
use crate::voice_file::VoiceFile;
use crate::voice_vector::of_latents;

impl Synthesizer {
    /// Returns the fingerprint of the weights that turn recordings into voices.
    ///
    /// # Errors
    /// Returns an error if they cannot be read from their device.
    pub(crate) fn fingerprint(&self) -> Result<Fingerprint, InferError> {
        let (encoder, perceiver) = self.gpt().conditioning();
        let unread = |why: params::ReadError| InferError::Device(why.to_string());
        let mut parts = vec![
            params::state_dict(encoder).map_err(unread)?,
            params::state_dict(perceiver).map_err(unread)?,
        ];
        if let Some(encoder) = self.decoder().and_then(|decoder| decoder.speaker_encoder()) {
            parts.push(params::state_dict(encoder).map_err(unread)?);
        }
        let mut hasher = blake3::Hasher::new();
        for part in &parts {
            for (name, data) in part {
                hasher.update(name.as_bytes());
                for size in data.shape().iter() {
                    hasher.update(&(*size as u64).to_le_bytes());
                }
                let numbers: Vec<u8> = data.iter::<f32>().flat_map(f32::to_le_bytes).collect();
                hasher.update(&numbers);
            }
        }
        Ok(Fingerprint::from(*hasher.finalize().as_bytes()))
    }

    /// Prepares a voice for a file; `source` says what it was made from.
    ///
    /// # Errors
    /// Returns an error if the voice cannot be read from its device.
    pub fn voice_file(&self, voice: &Voice, source: Vec<String>) -> Result<VoiceFile, InferError> {
        let read = |tensor: Tensor<3>| {
            let numbers = tensor.try_into_vec_as::<f32>();
            numbers.map_err(|why| InferError::Device(why.to_string()))
        };
        let [_, latents, channels] = voice.latents_1nd.dims();
        Ok(VoiceFile {
            sizes: [latents, channels],
            latents: read(voice.latents_1nd.clone())?,
            vector: voice.vector_1c1.clone().map(read).transpose()?,
            model: self.fingerprint()?,
            source,
        })
    }

    /// Returns the voice of a file, which this model must have made.
    ///
    /// # Errors
    /// Returns an error if another model made it.
    pub fn voice_from_file(&self, name: &str, file: &VoiceFile) -> Result<Voice, InferError> {
        let own = self.fingerprint()?;
        if file.model != own {
            return Err(InferError::Voice {
                name: name.to_owned(),
                why: format!(
                    "it was made with another model ({:.8}, and this one is {:.8})",
                    file.model.to_string(),
                    own.to_string()
                ),
                fix: "make it again from its recordings with this model: --speaker-wav and --save-voice",
            });
        }
        self.voice_of(name, file.sizes, file.latents.clone(), file.vector.clone())
    }

    /// Makes a voice from numbers, checked against the model's sizes.
    pub(crate) fn voice_of(
        &self,
        name: &str,
        [latents, channels]: [usize; 2],
        numbers: Vec<f32>,
        vector: Option<Vec<f32>>,
    ) -> Result<Voice, InferError> {
        let refused = |why: String| InferError::Voice {
            name: name.to_owned(),
            why,
            fix: "make it again from recordings of the speaker with --speaker-wav",
        };
        let gpt = &self.card().gpt;
        let needed = [gpt.perceiver.latents, gpt.channels];
        if [latents, channels] != needed {
            let [n, d] = needed;
            return Err(refused(format!(
                "it has {latents} latents of {channels} channels, and the model has {n} of {d}"
            )));
        }
        let width = self
            .card()
            .decoder
            .as_ref()
            .map(|card| card.hifigan.speaker_dim);
        if let (Some(vector), Some(width)) = (&vector, width)
            && vector.len() != width
        {
            return Err(refused(format!(
                "its vector has {} channels, and the model's waveform decoder takes {width}",
                vector.len()
            )));
        }
        let tensor = |numbers: Vec<f32>, shape: [usize; 3]| {
            Tensor::<3>::from_data(TensorData::new(numbers, shape), self.device())
        };
        let latents_1nd = tensor(numbers, [1, latents, channels]);
        let vector_1c1 = match (&self.card().decoder, vector) {
            // A model without a decoder has no use for a vector.
            (None, _) => None,
            (Some(_), Some(vector)) => {
                let width = vector.len();
                Some(tensor(vector, [1, width, 1]))
            }
            // The voice was kept before the decoder was trained, which is conditioned on these
            // latents.
            (Some(decoder), None) if decoder.voice == VoiceKind::Conditioning => {
                Some(of_latents(latents_1nd.clone()))
            }
            (Some(_), None) => None,
        };
        Ok(Voice {
            latents_1nd,
            vector_1c1,
        })
    }
}
