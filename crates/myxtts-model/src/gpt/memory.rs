//! What training needs of a device's memory, from sizes alone.

use super::batch::TAIL;
use super::config::GptConfig;
use super::count::ParameterCount;

/// Bytes of a number.
const F32: u64 = 4;

/// Tensors of one block that the backward pass reads, in units of
/// `positions x channels`: of each norm its input, its centred input and the
/// quotient (6), queries, keys and values flat, by head and scaled (7), the
/// mixed heads and their merge (2), the input of three products (3), the two
/// sums (2), and of the feed-forward part its input, the terms of GELU and its
/// output, each four times as wide (6 x 4).
const BLOCK: u64 = 44;

/// The same for a block of the conditioning encoder, which has no feed-forward part.
const ENCODER_BLOCK: u64 = 16;

/// Copies of the scores of one head: masked, as weights, and their gradient.
const SCORES: u64 = 3;

/// Copies of the scores of tokens: as they are, as logarithms, and their gradient.
const LOGITS: u64 = 3;

/// The static shape of one sample in a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchShape {
    /// Text tokens.
    pub text: usize,
    /// Audio codes.
    pub codes: usize,
    /// Frames of the conditioning mel.
    pub frames: usize,
}

/// Bytes that training in f32 holds at its fullest: an estimate, made to be
/// rather above than below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrainingMemory {
    /// Parameters.
    pub parameters: u64,
    /// Their gradients.
    pub gradients: u64,
    /// Both moments of AdamW.
    pub moments: u64,
    /// What forward keeps for backward.
    pub activations: u64,
}

impl TrainingMemory {
    /// Of a batch with this many samples of one shape.
    pub fn of(config: &GptConfig, shape: BatchShape, samples: usize) -> Self {
        let parameters = ParameterCount::of(config).total() as u64 * F32;
        Self {
            parameters,
            gradients: parameters,
            moments: 2 * parameters,
            activations: samples as u64 * activations(config, shape) * F32,
        }
    }

    /// All of it.
    pub fn total(&self) -> u64 {
        self.parameters + self.gradients + self.moments + self.activations
    }
}

/// Numbers kept for one sample.
fn activations(config: &GptConfig, shape: BatchShape) -> u64 {
    let [channels, heads, layers, blocks] = [
        config.channels,
        config.heads,
        config.layers,
        config.encoder_blocks,
    ]
    .map(|size| size as u64);
    let text = shape.text as u64 + 2;
    let codes = (shape.codes + TAIL) as u64 + 2;
    let latents = config.perceiver.latents as u64;
    let positions = latents + text + codes;
    let frames = shape.frames as u64;
    let block = BLOCK * positions * channels + SCORES * heads * positions * positions;
    let encoder_block = ENCODER_BLOCK * frames * channels + SCORES * heads * frames * frames;
    let inner = config.perceiver.inner() as u64;
    let read = frames + latents;
    let perceiver_layer = read * (channels + 6 * inner)
        + SCORES * config.perceiver.heads as u64 * latents * read
        + 24 * latents * channels;
    let vocabulary = &config.vocabulary;
    let logits = text * vocabulary.text_tokens as u64 + codes * vocabulary.audio_tokens() as u64;
    layers * block
        + blocks * encoder_block
        + config.perceiver.depth as u64 * perceiver_layer
        + LOGITS * logits
}
