//! What a model is, besides its tensors.

use myxtts_audio::{AudioConfig, MelSpec};
use myxtts_data::schedule::ConditioningSpec;
use myxtts_model::dvae::DvaeConfig;
use myxtts_model::gpt::{GptConfig, Quirks};
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
