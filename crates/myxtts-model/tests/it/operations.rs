//! The operations of a step, as progress and doctor estimate them (six a
//! weight and position), beside a count by hand of every product.

use myxtts_model::ModelSize;
use myxtts_model::gpt::{GptConfig, ParameterCount, Vocabulary};

/// Text tokens, codes and conditioning frames of a row: the longest by default.
const TEXT: f64 = 200.0;
const CODES: f64 = 200.0;

/// Forward and backward of one row: a multiplication and an addition are two
/// operations, and a product costs three times its forward pass.
fn by_hand(config: &GptConfig, frames: f64) -> f64 {
    let d = config.channels as f64;
    let perceiver = &config.perceiver;
    let (latents, depth) = (perceiver.latents as f64, perceiver.depth as f64);
    let inner = (perceiver.heads * perceiver.head_channels) as f64;
    let product = |rows: f64, inputs: f64, outputs: f64| 2.0 * rows * inputs * outputs;
    // Scores, and values weighed by them.
    let attention = |queries: f64, keys: f64, width: f64| 2.0 * product(queries, width, keys);

    let positions = latents + TEXT + CODES;
    let block = product(positions, d, 3.0 * d)
        + attention(positions, positions, d)
        + product(positions, d, d)
        + product(positions, d, 4.0 * d)
        + product(positions, 4.0 * d, d);
    let heads = product(TEXT, d, config.vocabulary.text_tokens as f64)
        + product(CODES, d, config.vocabulary.audio_tokens() as f64);
    let encoder_block =
        product(frames, d, 3.0 * d) + attention(frames, frames, d) + product(frames, d, d);
    let encoder =
        product(frames, config.mel_bands as f64, d) + config.encoder_blocks as f64 * encoder_block;
    let hidden = d * 8.0 / 3.0;
    let keys = frames + latents;
    let layer = product(latents, d, inner)
        + product(keys, d, 2.0 * inner)
        + attention(latents, keys, inner)
        + product(latents, inner, d)
        + product(latents, d, 2.0 * hidden)
        + product(latents, hidden, d);
    3.0 * (config.layers as f64 * block + heads + encoder + depth * layer)
}

#[test]
fn six_operations_a_weight_and_position_are_near_a_count_by_hand() {
    for size in ModelSize::ALL {
        // The tiny model learns characters and has 512 codes.
        let vocabulary = match size {
            ModelSize::Tiny => Vocabulary {
                text_tokens: 64,
                codes: 512,
                ..Vocabulary::XTTS_V2
            },
            _ => Vocabulary::XTTS_V2,
        };
        let config = size.gpt(vocabulary);
        // The tiny model hears one second of a voice, the others up to six.
        let seconds = if size == ModelSize::Tiny { 1.0 } else { 6.0 };
        let counted = by_hand(&config, seconds * 22_050.0 / 256.0);
        let estimate = 6.0 * ParameterCount::of(&config).total() as f64 * (TEXT + CODES);
        let ratio = estimate / counted;
        assert!((0.85..1.2).contains(&ratio), "{size:?}: {ratio:.2}");
    }
}
