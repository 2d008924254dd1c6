//! What a model is, besides its tensors.

use myxtts_audio::{AudioConfig, MelSpec};
use myxtts_data::schedule::ConditioningSpec;
use myxtts_model::ModelSize;
use myxtts_model::dvae::DvaeConfig;
use myxtts_model::gpt::{GptConfig, Quirks, Vocabulary};
use myxtts_model::hifigan::HifiganConfig;
use myxtts_model::speaker::SpeakerConfig;
use myxtts_weights::{Checkpoint, misfit};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::check;
use crate::error::InferError;
use crate::public;
use crate::sampling::SamplingDefaults;

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
    /// What makes waveforms of the GPT's latents. `synthesize` does not use it
    /// yet: every model speaks through its DVAE and Griffin-Lim.
    #[serde(default)]
    pub decoder: Option<DecoderCard>,
    /// How it draws codes where nobody says otherwise; see
    /// [`sampling`](Self::sampling) for cards that were written without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampling: Option<SamplingDefaults>,
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
    /// which have none. Every field of it was checked against the others and
    /// against the weights.
    pub fn of(checkpoint: &Checkpoint) -> Result<Self, InferError> {
        let Some(model) = &checkpoint.model else {
            return public::card(checkpoint);
        };
        let card = Self::read(model)?;
        check::check(&card, checkpoint)?;
        Ok(card)
    }

    /// The card in a description, not compared with any weights.
    pub(crate) fn read(model: &Value) -> Result<Self, InferError> {
        serde_json::from_value(model.clone()).map_err(|why| match misfit(model, &Self::example()) {
            Some(misfit) => InferError::Unreadable {
                field: misfit.field,
                why: misfit.why,
            },
            None => InferError::Card(why),
        })
    }

    /// How it draws codes where nobody says otherwise. Earlier versions wrote
    /// cards without it: what they fine-tuned from public weights draws as those
    /// do, what they trained from nothing as this version's do.
    pub fn sampling(&self) -> SamplingDefaults {
        self.sampling.unwrap_or(match self.quirks {
            Quirks::Compat => SamplingDefaults::RELEASED,
            Quirks::Fixed => SamplingDefaults::TRAINED_HERE,
        })
    }

    /// A card with every field, for finding out why another cannot be read.
    fn example() -> Self {
        Self {
            gpt: ModelSize::XttsV2.gpt(Vocabulary::XTTS_V2),
            dvae: DvaeConfig::RELEASED,
            quirks: Quirks::Compat,
            audio: AudioConfig::default(),
            codes_mel: MelSpec::DVAE,
            conditioning_mel: MelSpec::CONDITIONING,
            conditioning: ConditioningSpec::XTTS,
            languages: vec![],
            decoder: Some(DecoderCard {
                hifigan: HifiganConfig::released(),
                voice: VoiceKind::SpeakerEncoder(SpeakerConfig::RELEASED),
            }),
            sampling: Some(SamplingDefaults::RELEASED),
        }
    }
}
