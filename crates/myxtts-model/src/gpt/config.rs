//! Sizes of the GPT.

use serde::{Deserialize, Serialize};

use crate::conditioning::PerceiverConfig;

/// Every size of the GPT and of what conditions it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GptConfig {
    /// The number of transformer blocks.
    pub layers: usize,
    /// Channels of a position.
    pub channels: usize,
    /// Heads of a block, also in the conditioning encoder.
    pub heads: usize,
    /// Symbols and lengths of text and audio.
    pub vocabulary: Vocabulary,
    /// Bands of the conditioning mel.
    pub mel_bands: usize,
    /// Blocks of the conditioning encoder.
    pub encoder_blocks: usize,
    /// The resampler after the conditioning encoder.
    pub perceiver: PerceiverConfig,
    /// Share of activations dropped in training.
    pub dropout: f64,
    /// Standard deviation of new token embeddings.
    pub embedding_std: f64,
}

/// The symbols that the GPT reads and writes, and how many at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Vocabulary {
    /// The number of text tokens, including START and STOP.
    pub text_tokens: usize,
    /// The START token, before a text.
    pub start_text: u32,
    /// The STOP token, after a text.
    pub stop_text: u32,
    /// The longest text, in tokens.
    pub max_text_tokens: usize,
    /// The number of audio codes; START and STOP come after them.
    pub codes: u32,
    /// The longest audio, in codes, as the public configuration counts it.
    pub max_audio_tokens: usize,
}

impl Vocabulary {
    /// The symbols of the public model, release 2.0.3.
    pub const XTTS_V2: Self = Self {
        text_tokens: 6681,
        start_text: 261,
        stop_text: 0,
        max_text_tokens: 402,
        codes: 1024,
        max_audio_tokens: 605,
    };

    /// Counts the codes with START and STOP.
    pub fn audio_tokens(&self) -> usize {
        self.codes as usize + 2
    }

    /// Returns the START token, before the codes.
    pub fn start_audio(&self) -> u32 {
        self.codes
    }

    /// Returns the STOP token, after the codes.
    pub fn stop_audio(&self) -> u32 {
        self.codes + 1
    }

    /// Counts the learned positions of text: START and STOP beside the tokens.
    pub(crate) fn text_positions(&self) -> usize {
        self.max_text_tokens + 2
    }

    /// Counts the learned positions of audio: START, STOP and one conditioning input beside the
    /// codes.
    pub(crate) fn audio_positions(&self) -> usize {
        self.max_audio_tokens + 3
    }

    /// Returns the most codes that a generation makes, including STOP.
    pub fn max_new_codes(&self) -> usize {
        self.max_audio_tokens.saturating_sub(3)
    }
}
