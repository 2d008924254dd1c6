//! Counts the parameters of a configuration without making any.

use super::config::GptConfig;
use crate::conditioning::feed_forward_channels;

/// The number of parameters of each part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParameterCount {
    /// The blocks and the norm after them.
    pub transformer: usize,
    /// The encoder of a voice's mel frames.
    pub conditioning_encoder: usize,
    /// The resampler from frames to latents.
    pub conditioning_perceiver: usize,
    /// The embedding of text tokens.
    pub text_embedding: usize,
    /// The head that scores text tokens.
    pub text_head: usize,
    /// The embedding of audio codes.
    pub mel_embedding: usize,
    /// The head that scores codes.
    pub mel_head: usize,
    /// The position embedding of codes.
    pub mel_positions: usize,
    /// The position embedding of text.
    pub text_positions: usize,
    /// The norm before the heads.
    pub final_norm: usize,
}

impl ParameterCount {
    /// Counts the parameters of a configuration.
    pub fn of(config: &GptConfig) -> Self {
        let channels = config.channels;
        let vocabulary = &config.vocabulary;
        let linear = |inputs: usize, outputs: usize| (inputs + 1) * outputs;
        let norm = 2 * channels;
        let block = 2 * norm
            + linear(channels, 3 * channels)
            + linear(channels, channels)
            + linear(channels, 4 * channels)
            + linear(4 * channels, channels);
        let encoder_block = norm + linear(channels, 3 * channels) + linear(channels, channels);
        let perceiver = &config.perceiver;
        let hidden = feed_forward_channels(channels);
        let perceiver_layer = 4 * channels * perceiver.inner()
            + linear(channels, 2 * hidden)
            + linear(hidden, channels);
        Self {
            transformer: config.layers * block + norm,
            conditioning_encoder: linear(config.mel_bands, channels)
                + config.encoder_blocks * encoder_block,
            conditioning_perceiver: (perceiver.latents + 1) * channels
                + perceiver.depth * perceiver_layer,
            text_embedding: vocabulary.text_tokens * channels,
            text_head: linear(channels, vocabulary.text_tokens),
            mel_embedding: vocabulary.audio_tokens() * channels,
            mel_head: linear(channels, vocabulary.audio_tokens()),
            mel_positions: vocabulary.audio_positions() * channels,
            text_positions: vocabulary.text_positions() * channels,
            final_norm: norm,
        }
    }

    /// Returns the sum over all parts.
    pub fn total(&self) -> usize {
        self.transformer
            + self.conditioning_encoder
            + self.conditioning_perceiver
            + self.text_embedding
            + self.text_head
            + self.mel_embedding
            + self.mel_head
            + self.mel_positions
            + self.text_positions
            + self.final_norm
    }
}
