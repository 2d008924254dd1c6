//! Sizes of the model, by name.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::conditioning::PerceiverConfig;
use crate::dvae::DvaeConfig;
use crate::gpt::{GptConfig, Vocabulary};
use crate::hifigan::HifiganConfig;

/// A size of the model: minutes on a CPU to try things, hours on a small GPU,
/// one voice on a common GPU, many voices, and the public model's own size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum ModelSize {
    Tiny,
    Small,
    Normal,
    Big,
    XttsV2,
}

impl ModelSize {
    /// Every size, smallest first.
    pub const ALL: [Self; 5] = [
        Self::Tiny,
        Self::Small,
        Self::Normal,
        Self::Big,
        Self::XttsV2,
    ];

    /// As flags and files spell it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tiny => "tiny",
            Self::Small => "small",
            Self::Normal => "normal",
            Self::Big => "big",
            Self::XttsV2 => "xtts-v2",
        }
    }

    /// The DVAE of this size. Only the smallest has one of its own: a DVAE is
    /// quick to train, and the GPT must speak its codes.
    pub fn dvae(self) -> DvaeConfig {
        match self {
            Self::Tiny => DvaeConfig::TINY,
            _ => DvaeConfig::RELEASED,
        }
    }

    /// The GPT of this size.
    pub fn gpt(self, vocabulary: Vocabulary) -> GptConfig {
        // Heads have 48 channels in the smallest and 64 in all others.
        let (layers, channels, heads) = match self {
            Self::Tiny => (4, 192, 4),
            Self::Small => (8, 512, 8),
            Self::Normal => (16, 768, 12),
            Self::Big => (24, 1024, 16),
            Self::XttsV2 => (30, 1024, 16),
        };
        let (encoder_blocks, perceiver) = match self {
            Self::Tiny => (
                2,
                PerceiverConfig {
                    latents: 16,
                    depth: 1,
                    heads: 4,
                    head_channels: 48,
                },
            ),
            Self::Small => (4, PerceiverConfig::XTTS_V2),
            Self::Normal | Self::Big | Self::XttsV2 => (6, PerceiverConfig::XTTS_V2),
        };
        GptConfig {
            layers,
            channels,
            heads,
            vocabulary,
            mel_bands: 80,
            encoder_blocks,
            perceiver,
            dropout: 0.1,
            // The public model starts its embeddings at 1, which drowns the
            // positions for the first thousands of steps; smaller models,
            // which are trained from nothing, start them like the positions.
            embedding_std: if self == Self::XttsV2 { 1.0 } else { 0.02 },
        }
    }

    /// The waveform decoder of this size, for latents of `latent_dim` channels
    /// and voices of `speaker_dim`. Only the smallest has one of its own, for a
    /// CPU; a narrower one would cost quality and save little beside the GPT.
    pub fn decoder(self, latent_dim: usize, speaker_dim: usize) -> HifiganConfig {
        match self {
            Self::Tiny => HifiganConfig::tiny(latent_dim, speaker_dim),
            _ => HifiganConfig {
                latent_dim,
                speaker_dim,
                ..HifiganConfig::released()
            },
        }
    }
}
