//! The description of a model, apart from its tensors.

use myxtts_audio::{AudioConfig, MelSpec};
use myxtts_data::schedule::ConditioningSpec;
use myxtts_model::ModelSize;
use myxtts_model::dvae::DvaeConfig;
use myxtts_model::gpt::{GptConfig, Quirks, Vocabulary};
use myxtts_model::hifigan::HifiganConfig;
use myxtts_model::speaker::SpeakerConfig;
use myxtts_weights::{ModelWeights, misfit};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::check;
use crate::error::InferError;
use crate::public;
use crate::sampling::SamplingDefaults;

/// The description of a model, apart from its tensors. It is stored with them, so that speaking
/// loads and cuts recordings as training did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelCard {
    /// The sizes of the GPT.
    pub gpt: GptConfig,
    /// The sizes of the DVAE.
    pub dvae: DvaeConfig,
    /// Whether it was trained with the quirks of the public implementation.
    pub quirks: Quirks,
    /// How recordings become waveforms.
    pub audio: AudioConfig,
    /// The mel that codes are made from.
    pub codes_mel: MelSpec,
    /// The mel that the GPT is conditioned on.
    pub conditioning_mel: MelSpec,
    /// The length of the conditioning segment.
    pub conditioning: ConditioningSpec,
    /// The tags of the languages it was trained on.
    pub languages: Vec<String>,
    /// The decoder that turns the GPT's latents into waveforms. A model without one speaks
    /// through its DVAE and Griffin-Lim.
    #[serde(default)]
    pub decoder: Option<DecoderCard>,
    /// How the model samples its codes unless told otherwise; see [`sampling`](Self::sampling)
    /// for cards that were written without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampling: Option<SamplingDefaults>,
}

/// The description of a waveform decoder, apart from its tensors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DecoderCard {
    /// The sizes of the decoder.
    pub hifigan: HifiganConfig,
    /// Where the vector of a voice comes from.
    pub voice: VoiceKind,
}

/// The source of a voice's vector, which the decoder is conditioned on.
///
/// Public files have a speaker encoder, trained on thousands of speakers. A model trained from
/// scratch has none, and a frozen random one would tell speakers apart only by accident. Its GPT
/// has learned to hear the same speakers: the latents it conditions on carry the voice, are
/// stored with the model, and can be computed from any recording; so their mean, scaled to
/// length 1, is the vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VoiceKind {
    /// The speaker encoder beside the decoder.
    SpeakerEncoder(SpeakerConfig),
    /// The mean of the GPT's conditioning latents.
    Conditioning,
}

impl ModelCard {
    /// Returns the card stored with the weights, or works one out for public XTTS-v2 files,
    /// which have none. Every field was checked against the others and against the weights.
    pub fn of(checkpoint: &ModelWeights) -> Result<Self, InferError> {
        let Some(model) = &checkpoint.model else {
            return public::card(checkpoint);
        };
        let card = Self::read(model)?;
        check::check(&card, checkpoint)?;
        Ok(card)
    }

    /// Reads the card in a description, without comparing it with any weights.
    pub(crate) fn read(model: &Value) -> Result<Self, InferError> {
        serde_json::from_value(model.clone()).map_err(|why| match misfit(model, &Self::example()) {
            Some(misfit) => InferError::Unreadable {
                field: misfit.field,
                why: misfit.why,
            },
            None => InferError::Card(why),
        })
    }

    /// Returns how the model samples its codes unless told otherwise. Earlier versions wrote
    /// cards without it: what they fine-tuned from public weights samples as those do, and what
    /// they trained from scratch as this version's models do.
    pub fn sampling(&self) -> SamplingDefaults {
        self.sampling.unwrap_or(match self.quirks {
            Quirks::Compat => SamplingDefaults::RELEASED,
            Quirks::Fixed => SamplingDefaults::TRAINED_HERE,
        })
    }

    /// Returns a card with every field, for finding out why another cannot be read.
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
