//! Checks the waveform decoder: its bounds, what it is joined to, and its tensors.

use myxtts_model::hifigan::HifiganConfig;
use myxtts_weights::TensorMap;

use super::rules::{LARGEST, RATES, at_most, fault, same};
use super::{CardFault, Shapes, speaker};
use crate::card::{DecoderCard, ModelCard, VoiceKind};
use crate::error::InferError;

/// The largest number of stages, blocks and dilations of a waveform decoder.
const MOST_PARTS: usize = 16;

/// Checks a decoder against the rest of its card and, if there are any, its tensors.
pub(super) fn check(
    card: &ModelCard,
    decoder: &DecoderCard,
    tensors: &TensorMap,
) -> Result<(), InferError> {
    let hifigan = &decoder.hifigan;
    check_hifigan(hifigan)?;
    check_joints(card, decoder)?;
    hifigan.check().map_err(|why| {
        CardFault::new(
            "decoder.hifigan",
            why.to_string(),
            "no decoder can have these sizes",
        )
    })?;
    if tensors.is_empty() {
        return Ok(());
    }
    let shape = Shapes {
        part: "waveform decoder",
        tensors,
    };
    check_tensors(hifigan, &shape)?;
    if let VoiceKind::SpeakerEncoder(speaker) = decoder.voice {
        speaker::check_tensors(&speaker, &shape)?;
    }
    Ok(())
}

/// Checks the sizes that a decoder shares with the parts it is joined to.
fn check_joints(card: &ModelCard, decoder: &DecoderCard) -> Result<(), InferError> {
    let hifigan = &decoder.hifigan;
    let stride = card.codes_mel.hop.0 * card.dvae.stride();
    for (field, found, needed, of) in [
        (
            "decoder.hifigan.latent_dim",
            hifigan.latent_dim,
            card.gpt.channels,
            "gpt.channels",
        ),
        (
            "decoder.hifigan.input_rate",
            hifigan.input_rate as usize,
            card.audio.sample_rate.hz() as usize,
            "audio.sample_rate",
        ),
        (
            "decoder.hifigan.code_stride",
            hifigan.code_stride,
            stride,
            "a code of the DVAE, in samples,",
        ),
    ] {
        if found != needed {
            return fault(field, found, format!("{of} is {needed}"));
        }
    }
    let vector = match decoder.voice {
        VoiceKind::Conditioning => ("gpt.channels", card.gpt.channels),
        VoiceKind::SpeakerEncoder(speaker) => {
            speaker::check(&speaker)?;
            ("decoder.voice.embedding_dim", speaker.embedding_dim)
        }
    };
    if hifigan.speaker_dim != vector.1 {
        let needed = format!("{} is {}", vector.0, vector.1);
        return fault("decoder.hifigan.speaker_dim", hifigan.speaker_dim, needed);
    }
    Ok(())
}

/// Compares the sizes with those of the tensors.
fn check_tensors(hifigan: &HifiganConfig, shape: &Shapes<'_>) -> Result<(), InferError> {
    let name = "hifigan_decoder.waveform_decoder.conv_pre.weight";
    let [channels, latent_dim, _] = shape.of(name)?;
    same("decoder.hifigan.channels", hifigan.channels, channels, name)?;
    same(
        "decoder.hifigan.latent_dim",
        hifigan.latent_dim,
        latent_dim,
        name,
    )?;
    let ups = shape.count("hifigan_decoder.waveform_decoder.ups.");
    let name = "hifigan_decoder.waveform_decoder.ups.*";
    let rates = hifigan.upsample_rates.len();
    same("decoder.hifigan.upsample_rates", rates, ups, name)?;
    let speakers = shape.count("hifigan_decoder.waveform_decoder.conds.") > 0;
    if speakers != hifigan.speaker_in_each_stage {
        let needed = match speakers {
            true => "there are tensors `hifigan_decoder.waveform_decoder.conds.*`",
            false => "there is no tensor `hifigan_decoder.waveform_decoder.conds.*`",
        };
        let found = hifigan.speaker_in_each_stage;
        return fault("decoder.hifigan.speaker_in_each_stage", found, needed);
    }
    Ok(())
}

/// Checks the bounds of what does not follow from any tensor.
fn check_hifigan(hifigan: &HifiganConfig) -> Result<(), InferError> {
    for (field, rate) in [
        ("decoder.hifigan.input_rate", hifigan.input_rate),
        ("decoder.hifigan.output_rate", hifigan.output_rate),
    ] {
        if !RATES.contains(&rate) {
            let needed = format!("{} to {} Hz is needed", RATES.start(), RATES.end());
            return fault(field, rate, needed);
        }
    }
    at_most("decoder.hifigan.channels", hifigan.channels, LARGEST)?;
    let lists = [
        ("decoder.hifigan.upsample_rates", &hifigan.upsample_rates),
        (
            "decoder.hifigan.upsample_kernels",
            &hifigan.upsample_kernels,
        ),
        (
            "decoder.hifigan.resblock_kernels",
            &hifigan.resblock_kernels,
        ),
    ];
    let dilations = hifigan
        .resblock_dilations
        .iter()
        .map(|list| ("decoder.hifigan.resblock_dilations", list));
    at_most(
        "decoder.hifigan.resblock_dilations",
        hifigan.resblock_dilations.len(),
        MOST_PARTS,
    )?;
    for (field, list) in lists.into_iter().chain(dilations) {
        at_most(field, list.len(), MOST_PARTS)?;
        for size in list {
            if *size == 0 {
                return fault(field, size, "at least 1 is needed");
            }
            at_most(field, *size, 1024)?;
        }
    }
    Ok(())
}
