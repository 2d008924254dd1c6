//! Estimates the device memory of a training, from sizes alone.

use super::batch::TAIL;
use super::config::GptConfig;
use super::count::ParameterCount;

/// Bytes of an f32.
const F32: u64 = 4;

/// Which kernels compute, and in what precision: this decides what is kept for the backward pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernels {
    /// Whether they are our own on the CPU, which keep their inputs and compute the rest again;
    /// otherwise they are compositions of the engine's operations, each of which keeps what it
    /// reads.
    pub own: bool,
    /// Whether products are in half precision: rounded copies of weights and inputs are then kept
    /// beside those in f32.
    pub half: bool,
    /// Whether blocks are computed again on the way back, so that only their inputs are kept.
    pub recompute: bool,
}

impl Kernels {
    /// Our own kernels on the CPU, in f32.
    pub const CPU: Self = Self {
        own: true,
        half: false,
        recompute: false,
    };
    /// The engine's kernels on a GPU, in f32.
    pub const GPU: Self = Self {
        own: false,
        half: false,
        recompute: false,
    };
}

/// How many numbers one pass keeps.
struct Kept {
    /// For a block, in units of `positions x channels`. A composition keeps of each norm its
    /// input, its centred input and the quotient (6), queries, keys and values flat, by head and
    /// scaled (7), the mixed heads and their merge (2), the input of three products (3), the two
    /// sums (2), and of the feed-forward part its input, the terms of GELU and its output, each
    /// four times as wide (6 x 4). Ours keeps the inputs of two norms (2) and of four products
    /// (7), queries, keys and values (3), and GELU's input (4).
    block: u64,
    /// The same for a block of the conditioning encoder, which has no
    /// feed-forward part.
    encoder_block: u64,
    /// Copies of the scores of one head. None are kept: they are computed again.
    scores: u64,
    /// Copies of the scores of tokens: as they are, and their gradient.
    logits: u64,
    /// For a layer of the resampler: keys and values, and what latents keep.
    perceiver: [u64; 2],
}

impl Kept {
    fn by(kernels: Kernels) -> Self {
        // Half precision adds half as many bytes for the inputs of four products, seven channels
        // wide.
        let half = u64::from(kernels.half);
        match kernels.own {
            true => Self {
                block: 16 + 4 * half,
                encoder_block: 8 + half,
                scores: 0,
                logits: 2,
                perceiver: [3 + half, 12],
            },
            false => Self {
                block: 44 + 4 * half,
                encoder_block: 16 + half,
                scores: 0,
                logits: 2,
                perceiver: [6 + half, 24],
            },
        }
    }

    /// What a GPU kept when attention kept all its scores. The rows of batches were chosen by it,
    /// and runs that resume have the batches they had.
    fn with_scores() -> Self {
        Self {
            scores: 3,
            logits: 3,
            ..Self::by(Kernels::GPU)
        }
    }
}

/// Scores that attention on a GPU has in memory at once, in all tensors of them together.
const SCORES_AT_ONCE: u64 = 5 * (8 << 20);

/// The static shape of one sample in a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchShape {
    /// Text tokens, with padding.
    pub text: usize,
    /// Audio codes, with padding.
    pub codes: usize,
    /// Frames of the conditioning mel.
    pub frames: usize,
}

/// The bytes that training holds at its fullest: an estimate, meant to be too high rather than
/// too low.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrainingMemory {
    /// The parameters, and in half precision their rounded copies.
    pub parameters: u64,
    /// One set of gradients.
    pub gradients: u64,
    /// Both moments of AdamW.
    pub moments: u64,
    /// What the forward pass keeps for the backward pass.
    pub activations: u64,
}

impl TrainingMemory {
    /// Estimates a batch with `samples` samples of one shape.
    pub fn of(config: &GptConfig, shape: BatchShape, samples: usize, kernels: Kernels) -> Self {
        let parameters = ParameterCount::of(config).total() as u64 * F32;
        let samples = samples as u64;
        let scores = match kernels.own {
            true => 0,
            false => SCORES_AT_ONCE.min(samples * 5 * largest_scores(config, shape)),
        };
        let rounded = match kernels.half {
            true => parameters / 2,
            false => 0,
        };
        Self {
            parameters: parameters + rounded,
            gradients: parameters,
            moments: 2 * parameters,
            activations: samples
                * activations(config, shape, &Kept::by(kernels), kernels.recompute)
                * F32
                + scores * F32,
        }
    }

    /// Returns the sum of all parts.
    pub fn total(&self) -> u64 {
        self.parameters + self.gradients + self.moments + self.activations
    }
}

/// Returns the most rows of a shape that keep no more than `rows` rows of the longest, on any
/// kernels. The conditioning encoder reads as many frames for a short clip as for a long one, so
/// the number of rows does not grow in proportion as clips get shorter.
pub fn rows_within(
    config: &GptConfig,
    longest: BatchShape,
    rows: usize,
    shape: BatchShape,
) -> usize {
    let most = |kept: Kept| {
        let of = |shape: BatchShape| activations(config, shape, &kept, false);
        rows as u64 * of(longest) / of(shape).max(1)
    };
    let most = most(Kept::by(Kernels::CPU))
        .min(most(Kept::with_scores()))
        .max(1);
    usize::try_from(most).unwrap_or(usize::MAX)
}

/// Counts the positions of a sample.
fn positions(config: &GptConfig, shape: BatchShape) -> u64 {
    let tokens = shape.text + 2 + shape.codes + TAIL + 2;
    (config.perceiver.latents + tokens) as u64
}

/// Counts the scores of one sample in the attention that has most of them.
fn largest_scores(config: &GptConfig, shape: BatchShape) -> u64 {
    let longest = positions(config, shape).max(shape.frames as u64);
    config.heads as u64 * longest * longest
}

/// Counts the numbers kept for one sample.
fn activations(config: &GptConfig, shape: BatchShape, kept: &Kept, recompute: bool) -> u64 {
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
    let positions = positions(config, shape);
    let frames = shape.frames as u64;
    let block = kept.block * positions * channels + kept.scores * heads * positions * positions;
    let encoder_block =
        kept.encoder_block * frames * channels + kept.scores * heads * frames * frames;
    let inner = config.perceiver.inner() as u64;
    let read = frames + latents;
    let [per_frame, per_latent] = kept.perceiver;
    let perceiver_layer = read * (channels + per_frame * inner)
        + kept.scores * config.perceiver.heads as u64 * latents * read
        + per_latent * latents * channels;
    let vocabulary = &config.vocabulary;
    let logits = text * vocabulary.text_tokens as u64 + codes * vocabulary.audio_tokens() as u64;
    let voice = blocks * encoder_block + config.perceiver.depth as u64 * perceiver_layer;
    let scores = kept.logits * logits;
    if recompute {
        // The parts are walked one after the other, each with the inputs of all blocks beside it.
        return layers * positions * channels + block.max(voice).max(scores);
    }
    layers * block + voice + scores
}
