//! Checks the GPT: its sizes against its tensors, and its bounds.

use myxtts_model::conditioning::PerceiverConfig;
use myxtts_model::gpt::GptConfig;
use myxtts_weights::TensorMap;

use super::Shapes;
use super::rules::{fault, same};
use crate::error::InferError;

/// Checks a GPT against its tensors and itself.
pub(super) fn check(gpt: &GptConfig, tensors: &TensorMap) -> Result<(), InferError> {
    let shape = Shapes {
        part: "GPT",
        tensors,
    };
    check_stack(gpt, &shape)?;
    check_encoder(gpt, &shape)?;
    check_perceiver(&gpt.perceiver, &shape)?;
    check_bounds(gpt)
}

/// Compares the layers and the embeddings of text and codes with their tensors.
fn check_stack(gpt: &GptConfig, shape: &Shapes<'_>) -> Result<(), InferError> {
    let vocabulary = &gpt.vocabulary;
    let text = "gpt.text_embedding.weight";
    let [text_tokens, channels] = shape.of(text)?;
    same("gpt.channels", gpt.channels, channels, text)?;
    same(
        "gpt.vocabulary.text_tokens",
        vocabulary.text_tokens,
        text_tokens,
        text,
    )?;
    let layers = shape.count("gpt.gpt.h.");
    same("gpt.layers", gpt.layers, layers, "gpt.gpt.h.*")?;
    let name = "gpt.mel_embedding.weight";
    let [audio_tokens, _] = shape.of(name)?;
    let codes = audio_tokens.saturating_sub(2);
    same(
        "gpt.vocabulary.codes",
        vocabulary.codes as usize,
        codes,
        "gpt.mel_embedding.weight without START and STOP",
    )?;
    let name = "gpt.text_pos_embedding.emb.weight";
    let [positions, _] = shape.of(name)?;
    same(
        "gpt.vocabulary.max_text_tokens",
        vocabulary.max_text_tokens,
        positions.saturating_sub(2),
        name,
    )?;
    let name = "gpt.mel_pos_embedding.emb.weight";
    let [positions, _] = shape.of(name)?;
    same(
        "gpt.vocabulary.max_audio_tokens",
        vocabulary.max_audio_tokens,
        positions.saturating_sub(3),
        name,
    )
}

/// Compares the encoder of recordings with its tensors.
fn check_encoder(gpt: &GptConfig, shape: &Shapes<'_>) -> Result<(), InferError> {
    let name = "gpt.conditioning_encoder.init.weight";
    let [_, bands, _] = shape.of(name)?;
    same("gpt.mel_bands", gpt.mel_bands, bands, name)?;
    let blocks = shape.count("gpt.conditioning_encoder.attn.");
    let name = "gpt.conditioning_encoder.attn.*";
    same("gpt.encoder_blocks", gpt.encoder_blocks, blocks, name)
}

/// Compares the perceiver with its tensors.
fn check_perceiver(perceiver: &PerceiverConfig, shape: &Shapes<'_>) -> Result<(), InferError> {
    let name = "gpt.conditioning_perceiver.latents";
    let [latents, _] = shape.of(name)?;
    same("gpt.perceiver.latents", perceiver.latents, latents, name)?;
    let depth = shape.count("gpt.conditioning_perceiver.layers.");
    let name = "gpt.conditioning_perceiver.layers.*";
    same("gpt.perceiver.depth", perceiver.depth, depth, name)?;
    if perceiver.depth > 0 {
        let name = "gpt.conditioning_perceiver.layers.0.0.to_q.weight";
        let [inner, _] = shape.of(name)?;
        if perceiver.heads == 0 || !inner.is_multiple_of(perceiver.heads) {
            let needed = format!("a divisor of the {inner} rows of `{name}` is needed");
            return fault("gpt.perceiver.heads", perceiver.heads, needed);
        }
        same(
            "gpt.perceiver.head_channels",
            perceiver.head_channels,
            inner / perceiver.heads,
            "gpt.conditioning_perceiver.layers.0.0.to_q.weight for each of gpt.perceiver.heads",
        )?;
    }
    Ok(())
}

/// Checks the bounds that hold with or without tensors.
fn check_bounds(gpt: &GptConfig) -> Result<(), InferError> {
    let vocabulary = &gpt.vocabulary;
    for (field, size) in [
        ("gpt.channels", gpt.channels),
        ("gpt.layers", gpt.layers),
        ("gpt.mel_bands", gpt.mel_bands),
        ("gpt.perceiver.latents", gpt.perceiver.latents),
        ("gpt.vocabulary.codes", vocabulary.codes as usize),
        (
            "gpt.vocabulary.max_audio_tokens",
            vocabulary.max_new_codes(),
        ),
    ] {
        if size == 0 {
            return fault(field, size, "more is needed");
        }
    }
    if gpt.heads == 0 || !gpt.channels.is_multiple_of(gpt.heads) {
        let needed = format!("a divisor of gpt.channels = {} is needed", gpt.channels);
        return fault("gpt.heads", gpt.heads, needed);
    }
    if !(0.0..1.0).contains(&gpt.dropout) {
        return fault("gpt.dropout", gpt.dropout, "0 to below 1 is needed");
    }
    if !(0.0..=100.0).contains(&gpt.embedding_std) {
        return fault("gpt.embedding_std", gpt.embedding_std, "0 to 100 is needed");
    }
    Ok(())
}
