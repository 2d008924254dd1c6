//! What a model is, besides its tensors.

use myxtts_audio::{AudioConfig, MelSpec};
use myxtts_data::schedule::ConditioningSpec;
use myxtts_model::dvae::DvaeConfig;
use myxtts_model::gpt::{GptConfig, Quirks};
use myxtts_model::hifigan::HifiganConfig;
use myxtts_model::speaker::SpeakerConfig;
use myxtts_weights::Checkpoint;
use serde::{Deserialize, Serialize};

use crate::error::InferError;
use crate::public;

/// What a model is, besides its tensors: stored with them, so that speaking
/// hears and cuts recordings as training did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelCard {
    /// Sizes of the GPT.
    pub gpt: GptConfig,
    /// Sizes of the DVAE.
    pub dvae: DvaeConfig,
    /// Whether it was trained with the public implementation's accidents.
    pub quirks: Quirks,
    /// How recordings become waveforms.
    pub audio: AudioConfig,
    /// What codes are made of.
    pub codes_mel: MelSpec,
    /// What the GPT is conditioned on.
    pub conditioning_mel: MelSpec,
    /// How long a segment of the voice is.
    pub conditioning: ConditioningSpec,
    /// Tags of the languages it was trained on.
    pub languages: Vec<String>,
    /// What makes waveforms of the GPT's latents; a model without one speaks
    /// through Griffin-Lim.
    #[serde(default)]
    pub decoder: Option<DecoderCard>,
}

/// What a waveform decoder is, besides its tensors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DecoderCard {
    /// Sizes of the decoder.
    pub hifigan: HifiganConfig,
    /// What it knows of a voice.
    pub voice: VoiceKind,
}

/// Where the vector of a voice comes from, which the decoder is conditioned on.
///
/// Public files have a speaker encoder, trained on thousands of speakers. A
/// model trained from nothing has none, and a frozen random one would know
/// speakers by accident only. Its GPT has learned to hear the same speakers: the
/// latents it conditions on carry the voice, are stored with the model, and are
/// computed from any recording; so their mean, with length 1, is the vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VoiceKind {
    /// The speaker encoder beside the decoder.
    SpeakerEncoder(SpeakerConfig),
    /// The mean of the GPT's conditioning latents.
    Conditioning,
}

impl ModelCard {
    /// The one stored with the weights; worked out for public XTTS-v2 files,
    /// which have none.
    pub fn of(checkpoint: &Checkpoint) -> Result<Self, InferError> {
        match &checkpoint.model {
            Some(model) => Ok(serde_json::from_value(model.clone())?),
            None => public::card(checkpoint),
        }
    }
}
