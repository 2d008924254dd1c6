//! Sizes of the model, by name.

use serde::{Deserialize, Serialize};

use crate::conditioning::PerceiverConfig;
use crate::gpt::{GptConfig, Vocabulary};

/// A size of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ModelSize {
    /// Minutes on a CPU: to try things.
    Tiny,
    /// Hours on a small GPU.
    Small,
    /// One voice on a common GPU.
    Normal,
    /// Many voices.
    Big,
    /// The public model's own size.
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
}
