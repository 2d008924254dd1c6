//! The card of public XTTS-v2 files, from their configuration and the shapes of
//! their tensors.

use std::collections::BTreeSet;

use myxtts_audio::units::{SampleRate, Samples};
use myxtts_audio::{AudioConfig, MelSpec, Normalize};
use myxtts_data::schedule::ConditioningSpec;
use myxtts_model::conditioning::PerceiverConfig;
use myxtts_model::dvae::DvaeConfig;
use myxtts_model::gpt::{GptConfig, Quirks, Vocabulary};
use myxtts_model::hifigan::HifiganConfig;
use myxtts_model::speaker::SpeakerConfig;
use myxtts_weights::{Checkpoint, ModelArgs, TensorMap};

use crate::card::{DecoderCard, ModelCard, VoiceKind};
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
        decoder: decoder(checkpoint)?,
    })
}

/// The waveform decoder and its speaker encoder, by the shapes of their tensors.
fn decoder(checkpoint: &Checkpoint) -> Result<Option<DecoderCard>, InferError> {
    let args = &checkpoint.config.model_args;
    let tensors = &checkpoint.hifigan_decoder;
    let name = |name: &str| format!("hifigan_decoder.waveform_decoder.{name}");
    let pre = name("conv_pre.weight");
    let speaker = speaker(tensors)?;
    let (Some(speaker), Some(_)) = (speaker, tensors.get(&pre)) else {
        return Ok(None);
    };
    let [channels, latent_dim, _] = shape(tensors, &pre)?;
    let [_, speaker_dim, _] = shape(tensors, &name("cond_layer.weight"))?;
    let stages = count(tensors, &name("ups."));
    let taps = |of: &str| -> Result<usize, InferError> {
        let weight = name(&format!("{of}.parametrizations.weight.original1"));
        let [_, _, taps] = shape(tensors, &weight)?;
        Ok(taps)
    };
    let upsample_kernels: Result<Vec<usize>, _> = (0..stages)
        .map(|stage| taps(&format!("ups.{stage}")))
        .collect();
    let upsample_kernels = upsample_kernels?;
    let blocks = count(tensors, &name("resblocks.")) / stages.max(1);
    let resblock_kernels: Result<Vec<usize>, _> = (0..blocks)
        .map(|block| taps(&format!("resblocks.{block}.convs1.0")))
        .collect();
    let released = HifiganConfig::released();
    Ok(Some(DecoderCard {
        hifigan: HifiganConfig {
            input_rate: args.input_sample_rate,
            output_rate: args.output_sample_rate,
            code_stride: args.gpt_code_stride_len as usize,
            latent_dim,
            speaker_dim,
            channels,
            // No shape tells a stage's rate; it is half the taps in the release.
            upsample_rates: upsample_kernels.iter().map(|taps| taps / 2).collect(),
            upsample_kernels,
            resblock_kernels: resblock_kernels?,
            resblock_dilations: released
                .resblock_dilations
                .into_iter()
                .cycle()
                .take(blocks)
                .collect(),
            speaker_in_each_stage: args.cond_d_vector_in_each_upsampling_layer,
        },
        voice: VoiceKind::SpeakerEncoder(speaker),
    }))
}

fn speaker(tensors: &TensorMap) -> Result<Option<SpeakerConfig>, InferError> {
    let name = |name: &str| format!("hifigan_decoder.speaker_encoder.{name}");
    if tensors.get(&name("fc.weight")).is_none() {
        return Ok(None);
    }
    let [embedding_dim, flat] = shape(tensors, &name("fc.weight"))?;
    let mut filters = [0; 4];
    let mut blocks = [0; 4];
    for (stage, (filters, blocks)) in (1..).zip(filters.iter_mut().zip(&mut blocks)) {
        [*filters, ..] = shape::<4>(tensors, &name(&format!("layer{stage}.0.conv1.weight")))?;
        *blocks = count(tensors, &name(&format!("layer{stage}.")));
    }
    let [.., last] = filters;
    Ok(Some(SpeakerConfig {
        // Mean and deviation of each channel of an eighth of the bands.
        bands: flat / 2 / last.max(1) * 8,
        embedding_dim,
        blocks,
        filters,
    }))
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
