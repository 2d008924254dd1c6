//! What weights say of themselves before they are read.

use std::fs;
use std::path::Path;

use myxtts_audio::AudioConfig;
use myxtts_data::schedule::ConditioningSpec;
use myxtts_model::ModelSize;
use myxtts_model::dvae::DvaeConfig;
use myxtts_model::gpt::{GptConfig, Quirks, Vocabulary};
use myxtts_weights::describe_ours;
use serde::Deserialize;

use crate::card::ModelCard;
use crate::error::InferError;
use crate::locate::{Pick, newest_manifest, resolve};
use crate::public;

/// What a training that starts from weights takes from them. Read off the
/// description alone: the configuration is settled long before gigabytes of
/// tensors are read, and `plan` never reads them.
#[derive(Clone, Debug, PartialEq)]
pub struct WeightsSummary {
    /// The GPT; a run that has trained its DVAE alone has none yet.
    pub gpt: Option<GptSummary>,
    /// Sizes of the DVAE.
    pub dvae: DvaeConfig,
    /// The size by name; the nearest one where the GPT is like none.
    pub size: ModelSize,
    /// How recordings were heard.
    pub audio: AudioConfig,
}

/// What is known of a GPT.
#[derive(Clone, Debug, PartialEq)]
pub struct GptSummary {
    /// Its sizes. Public weights tell some of them by the shapes of tensors
    /// only; those are the release's here.
    pub sizes: GptConfig,
    /// Whether it was trained with the public implementation's accidents.
    pub quirks: Quirks,
    /// How long a segment of the voice is.
    pub conditioning: ConditioningSpec,
    /// Tags of its languages.
    pub languages: Vec<String>,
}

impl WeightsSummary {
    /// Of a folder of weights, a checkpoint or a run.
    pub fn of(folder: &Path) -> Result<Self, InferError> {
        match resolve(folder, Pick::Newest) {
            Ok(weights) => Self::described(&weights),
            Err(error @ InferError::NoGpt { .. }) => Self::of_codes(folder).ok_or(error),
            Err(error) => Err(error),
        }
    }

    /// Whether the GPT is of the named size, and not merely near to it.
    pub fn is_named_size(&self) -> bool {
        self.gpt
            .as_ref()
            .is_none_or(|gpt| named(&gpt.sizes) == Some(self.size))
    }

    fn described(weights: &Path) -> Result<Self, InferError> {
        let described = describe_ours(weights)?;
        let args = &described.config.model_args;
        let (audio, dvae, gpt) = match &described.model {
            Some(model) => {
                let card = ModelCard::read(model)?;
                let gpt = GptSummary {
                    sizes: card.gpt,
                    quirks: card.quirks,
                    conditioning: card.conditioning,
                    languages: card.languages,
                };
                (card.audio, card.dvae, gpt)
            }
            None => {
                let gpt = GptSummary {
                    sizes: GptConfig {
                        layers: args.gpt_layers,
                        channels: args.gpt_n_model_channels,
                        heads: args.gpt_n_heads,
                        vocabulary: Vocabulary {
                            max_text_tokens: args.gpt_max_text_tokens,
                            max_audio_tokens: args.gpt_max_audio_tokens,
                            codes: args.gpt_start_audio_token,
                            ..Vocabulary::XTTS_V2
                        },
                        ..ModelSize::XttsV2.gpt(Vocabulary::XTTS_V2)
                    },
                    quirks: Quirks::Compat,
                    conditioning: ConditioningSpec::XTTS,
                    languages: described.config.languages,
                };
                (public::AUDIO, DvaeConfig::RELEASED, gpt)
            }
        };
        Ok(Self {
            size: named(&gpt.sizes)
                .unwrap_or_else(|| ModelSize::nearest(gpt.sizes.layers, gpt.sizes.channels)),
            gpt: Some(gpt),
            dvae,
            audio,
        })
    }

    /// Of a run that has trained its DVAE and nothing else: what it was told.
    fn of_codes(run: &Path) -> Option<Self> {
        #[derive(Deserialize)]
        struct Manifest {
            sections: Sections,
        }
        #[derive(Deserialize)]
        struct Sections {
            config: Told,
        }
        #[derive(Deserialize)]
        struct Told {
            model: Model,
            data: AudioConfig,
        }
        #[derive(Deserialize)]
        struct Model {
            size: ModelSize,
        }
        let text = fs::read(newest_manifest(run)?).ok()?;
        let manifest: Manifest = serde_json::from_slice(&text).ok()?;
        let Told { model, data } = manifest.sections.config;
        Some(Self {
            gpt: None,
            dvae: model.size.dvae(),
            size: model.size,
            audio: data,
        })
    }
}

/// The size that is called by a name, if these are its.
fn named(gpt: &GptConfig) -> Option<ModelSize> {
    ModelSize::of(gpt.layers, gpt.channels, gpt.heads)
}
