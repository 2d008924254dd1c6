//! What weights say about themselves before they are read.

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

/// What a training that starts from weights takes from them. It is read from the description
/// alone: the configuration is settled long before gigabytes of tensors are read, and `plan`
/// never reads them.
#[derive(Clone, Debug, PartialEq)]
pub struct WeightsSummary {
    /// The GPT; a run that has trained only its DVAE has none yet.
    pub gpt: Option<GptSummary>,
    /// The sizes of the DVAE.
    pub dvae: DvaeConfig,
    /// The named size, or the nearest one if the GPT has none of them.
    pub size: ModelSize,
    /// How recordings were turned into waveforms.
    pub audio: AudioConfig,
}

/// What the description says about a GPT.
#[derive(Clone, Debug, PartialEq)]
pub struct GptSummary {
    /// The sizes of the GPT. Some of those of public weights follow only from the shapes of
    /// tensors; here these are the release's.
    pub sizes: GptConfig,
    /// Whether it was trained with the quirks of the public implementation.
    pub quirks: Quirks,
    /// The length of the conditioning segment.
    pub conditioning: ConditioningSpec,
    /// The tags of its languages.
    pub languages: Vec<String>,
}

impl WeightsSummary {
    /// Reads the summary of a folder of weights, a checkpoint or a run.
    pub fn of(folder: &Path) -> Result<Self, InferError> {
        match resolve(folder, Pick::Newest) {
            Ok(weights) => Self::described(&weights),
            Err(error @ InferError::NoGpt { .. }) => Self::of_codes(folder).ok_or(error),
            Err(error) => Err(error),
        }
    }

    /// Returns whether the GPT has exactly the named size, and is not merely near it.
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

    /// Returns the summary of a run that has trained only its DVAE, from its configuration.
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

/// Returns the named size of a GPT, if it has one.
fn named(gpt: &GptConfig) -> Option<ModelSize> {
    ModelSize::of(gpt.layers, gpt.channels, gpt.heads)
}
