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

    /// Returns the name that flags and files use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tiny => "tiny",
            Self::Small => "small",
            Self::Normal => "normal",
            Self::Big => "big",
            Self::XttsV2 => "xtts-v2",
        }
    }

    /// Returns the DVAE of this size. Only the smallest size has one of its own: a DVAE is quick
    /// to train, and the GPT must speak its codes.
    pub fn dvae(self) -> DvaeConfig {
        match self {
            Self::Tiny => DvaeConfig::TINY,
            _ => DvaeConfig::RELEASED,
        }
    }

    /// Returns the blocks of the GPT, channels of a position and heads of a block. Heads have 48
    /// channels in the smallest size and 64 in all others.
    fn blocks(self) -> (usize, usize, usize) {
        match self {
            Self::Tiny => (4, 192, 4),
            Self::Small => (8, 512, 8),
            Self::Normal => (16, 768, 12),
            Self::Big => (24, 1024, 16),
            Self::XttsV2 => (30, 1024, 16),
        }
    }

    /// Returns the size whose GPT has these blocks, channels and heads.
    pub fn of(layers: usize, channels: usize, heads: usize) -> Option<Self> {
        let is = |size: &Self| size.blocks() == (layers, channels, heads);
        Self::ALL.into_iter().find(is)
    }

    /// Returns the size whose GPT comes nearest to these blocks and channels, by the weights of
    /// its blocks.
    pub fn nearest(layers: usize, channels: usize) -> Self {
        let weights = |layers: usize, channels: usize| {
            (layers.max(1) as f64).ln() + 2.0 * (channels.max(1) as f64).ln()
        };
        let wanted = weights(layers, channels);
        let apart = |size: &Self| {
            let (layers, channels, _) = size.blocks();
            (weights(layers, channels) - wanted).abs()
        };
        let nearer = |a: &Self, b: &Self| apart(a).total_cmp(&apart(b));
        Self::ALL.into_iter().min_by(nearer).unwrap_or(Self::Tiny)
    }

    /// Returns the GPT of this size.
    pub fn gpt(self, vocabulary: Vocabulary) -> GptConfig {
        let (layers, channels, heads) = self.blocks();
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
            // The public model starts its embeddings with a deviation of 1, which drowns the
            // positions for the first thousands of steps; smaller models, which are trained from
            // scratch, start them like the positions.
            embedding_std: if self == Self::XttsV2 { 1.0 } else { 0.02 },
        }
    }

    /// Returns the waveform decoder of this size, for latents of `latent_dim` channels and voices
    /// of `speaker_dim`. Only the smallest size has one of its own, for a CPU; a narrower one
    /// would cost quality and save little beside the GPT.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gpt_is_known_by_its_blocks() {
        for size in ModelSize::ALL {
            let gpt = size.gpt(Vocabulary::XTTS_V2);
            assert_eq!(
                ModelSize::of(gpt.layers, gpt.channels, gpt.heads),
                Some(size)
            );
            assert_eq!(ModelSize::nearest(gpt.layers, gpt.channels), size);
        }
        assert_eq!(ModelSize::of(2, 64, 4), None);
        assert_eq!(ModelSize::nearest(2, 64), ModelSize::Tiny);
        assert_eq!(ModelSize::nearest(31, 1024), ModelSize::XttsV2);
        assert_eq!(ModelSize::nearest(0, 0), ModelSize::Tiny);
        assert_eq!(
            ModelSize::nearest(usize::MAX, usize::MAX),
            ModelSize::XttsV2
        );
    }
}
