//! Checks the speaker encoder: its bounds, and its sizes against its tensors.

use myxtts_model::speaker::SpeakerConfig;

use super::rules::{LARGEST, at_most, fault, same};
use super::{CardFault, Shapes};
use crate::error::InferError;

/// Checks the bounds that hold with or without tensors.
pub(super) fn check(speaker: &SpeakerConfig) -> Result<(), InferError> {
    if speaker.embedding_dim == 0 {
        return fault("decoder.voice.embedding_dim", 0, "at least 1 is needed");
    }
    speaker.check().map_err(|why| {
        CardFault::new(
            "decoder.voice",
            why.to_string(),
            "no speaker encoder can have these sizes",
        )
    })?;
    at_most("decoder.voice.bands", speaker.bands, LARGEST)?;
    for size in speaker.filters {
        at_most("decoder.voice.filters", size, LARGEST)?;
    }
    for size in speaker.blocks {
        at_most("decoder.voice.blocks", size, LARGEST)?;
    }
    at_most(
        "decoder.voice.embedding_dim",
        speaker.embedding_dim,
        LARGEST,
    )
}

/// Compares the sizes with those of the tensors.
pub(super) fn check_tensors(speaker: &SpeakerConfig, shape: &Shapes<'_>) -> Result<(), InferError> {
    let found = speaker_of(shape)?;
    let name = "hifigan_decoder.speaker_encoder.*";
    same("decoder.voice.bands", speaker.bands, found.bands, name)?;
    same(
        "decoder.voice.embedding_dim",
        speaker.embedding_dim,
        found.embedding_dim,
        name,
    )?;
    for stage in 0..4 {
        same(
            "decoder.voice.blocks",
            speaker.blocks[stage],
            found.blocks[stage],
            name,
        )?;
        same(
            "decoder.voice.filters",
            speaker.filters[stage],
            found.filters[stage],
            name,
        )?;
    }
    Ok(())
}

/// Returns the sizes that follow from the tensors of a speaker encoder.
pub(crate) fn speaker_of(shape: &Shapes<'_>) -> Result<SpeakerConfig, InferError> {
    let name = |name: &str| format!("hifigan_decoder.speaker_encoder.{name}");
    let [embedding_dim, flat] = shape.of(&name("fc.weight"))?;
    let mut filters = [0; 4];
    let mut blocks = [0; 4];
    for (stage, (filters, blocks)) in (1..).zip(filters.iter_mut().zip(&mut blocks)) {
        [*filters, ..] = shape.of::<4>(&name(&format!("layer{stage}.0.conv1.weight")))?;
        *blocks = shape.count(&name(&format!("layer{stage}.")));
    }
    let [.., last] = filters;
    Ok(SpeakerConfig {
        // The mean and deviation of each channel, for an eighth of the bands.
        bands: flat / 2 / last.max(1) * 8,
        embedding_dim,
        blocks,
        filters,
    })
}
