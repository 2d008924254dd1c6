//! The card of public XTTS-v2 files, from their configuration and the shapes of
//! their tensors.

use std::collections::BTreeSet;

use myxtts_audio::units::{SampleRate, Samples};
use myxtts_audio::{AudioConfig, MelSpec, Normalize};
use myxtts_data::schedule::ConditioningSpec;
use myxtts_model::conditioning::PerceiverConfig;
use myxtts_model::dvae::DvaeConfig;
use myxtts_model::gpt::{GptConfig, Quirks, Vocabulary};
use myxtts_weights::{Checkpoint, ModelArgs, TensorMap};

use crate::card::ModelCard;
use crate::error::InferError;
use crate::modules::vocabulary_of;

/// The released training cut 3 to 6 seconds.
const CONDITIONING: ConditioningSpec = ConditioningSpec {
    min: Samples(66_150),
    max: Samples(132_300),
};

pub(crate) fn card(checkpoint: &Checkpoint) -> Result<ModelCard, InferError> {
    let args = &checkpoint.config.model_args;
    if !args.gpt_use_perceiver_resampler {
        let why = "config.json says gpt_use_perceiver_resampler = false, as XTTS v1 does";
        return Err(InferError::NotXttsV2(why.to_owned()));
    }
    Ok(ModelCard {
        gpt: gpt(checkpoint)?,
        dvae: DvaeConfig::RELEASED,
        quirks: Quirks::Compat,
        audio: AudioConfig {
            sample_rate: SampleRate::XTTS,
            trim_silence: false,
            normalize: Normalize::None,
        },
        codes_mel: MelSpec::DVAE,
        conditioning_mel: MelSpec::CONDITIONING,
        conditioning: CONDITIONING,
        languages: checkpoint.config.languages.clone(),
    })
}

fn gpt(checkpoint: &Checkpoint) -> Result<GptConfig, InferError> {
    let args = &checkpoint.config.model_args;
    let tensors = &checkpoint.gpt;
    let [_, mel_bands, _] = shape(tensors, "gpt.conditioning_encoder.init.weight")?;
    let [latents, _] = shape(tensors, "gpt.conditioning_perceiver.latents")?;
    let [inner, _] = shape(tensors, "gpt.conditioning_perceiver.layers.0.0.to_q.weight")?;
    // No shape tells heads from channels of a head; the release has one number.
    let heads = PerceiverConfig::XTTS_V2.heads;
    Ok(GptConfig {
        layers: args.gpt_layers,
        channels: args.gpt_n_model_channels,
        heads: args.gpt_n_heads,
        vocabulary: vocabulary(checkpoint, args)?,
        mel_bands,
        encoder_blocks: count(tensors, "gpt.conditioning_encoder.attn."),
        perceiver: PerceiverConfig {
            latents,
            depth: count(tensors, "gpt.conditioning_perceiver.layers."),
            heads,
            head_channels: inner / heads,
        },
        dropout: 0.1,
        embedding_std: 1.0,
    })
}

fn vocabulary(checkpoint: &Checkpoint, args: &ModelArgs) -> Result<Vocabulary, InferError> {
    let text = vocabulary_of(checkpoint)?;
    let [text_tokens, _] = shape(&checkpoint.gpt, "gpt.text_embedding.weight")?;
    let codes = args.gpt_start_audio_token;
    let found = (args.gpt_num_audio_tokens, args.gpt_stop_audio_token);
    if found != (codes as usize + 2, codes + 1) {
        return Err(InferError::NotXttsV2(format!(
            "config.json has {} audio tokens, START {codes} and STOP {}: START and STOP must be the \
             last two",
            found.0, found.1
        )));
    }
    Ok(Vocabulary {
        text_tokens,
        start_text: args.gpt_start_text_token.unwrap_or(text.start()),
        stop_text: args.gpt_stop_text_token.unwrap_or(text.stop()),
        max_text_tokens: args.gpt_max_text_tokens,
        codes,
        max_audio_tokens: args.gpt_max_audio_tokens,
    })
}

fn shape<const D: usize>(tensors: &TensorMap, name: &str) -> Result<[usize; D], InferError> {
    let tensor = tensors
        .get(name)
        .ok_or_else(|| InferError::NotXttsV2(format!("the weights have no tensor `{name}`")))?;
    <[usize; D]>::try_from(tensor.shape()).map_err(|_| {
        let found = tensor.shape();
        InferError::NotXttsV2(format!(
            "tensor `{name}` has shape {found:?} in place of {D} dimensions"
        ))
    })
}

/// How many numbers follow a prefix.
fn count(tensors: &TensorMap, prefix: &str) -> usize {
    let numbers: BTreeSet<&str> = tensors
        .names()
        .filter_map(|name| name.strip_prefix(prefix)?.split('.').next())
        .collect();
    numbers.len()
}
