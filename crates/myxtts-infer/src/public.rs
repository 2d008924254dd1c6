//! The card of public XTTS-v2 files, from their configuration and the shapes of
//! their tensors.

use myxtts_audio::units::SampleRate;
use myxtts_audio::{AudioConfig, MelSpec, Normalize};
use myxtts_data::schedule::ConditioningSpec;
use myxtts_model::conditioning::PerceiverConfig;
use myxtts_model::dvae::DvaeConfig;
use myxtts_model::gpt::{GptConfig, Quirks, Vocabulary};
use myxtts_model::hifigan::HifiganConfig;
use myxtts_weights::{ModelArgs, ModelWeights, TensorMap};

use crate::card::{DecoderCard, ModelCard, VoiceKind};
use crate::check::{self, CardFault, Shapes};
use crate::error::InferError;
use crate::modules::vocabulary_of;
use crate::sampling::SamplingDefaults;

/// How recordings were loaded for the released model.
pub(crate) const AUDIO: AudioConfig = AudioConfig {
    sample_rate: SampleRate::XTTS,
    trim_silence: false,
    normalize: Normalize::None,
};

pub(crate) fn card(checkpoint: &ModelWeights) -> Result<ModelCard, InferError> {
    let args = &checkpoint.config.model_args;
    if !args.gpt_use_perceiver_resampler {
        let why = "config.json says gpt_use_perceiver_resampler = false, as XTTS v1 does";
        return Err(InferError::NotXttsV2(why.to_owned()));
    }
    let rate = args.input_sample_rate;
    if rate != AUDIO.sample_rate.hz() {
        let needed = format!("XTTS needs {}", AUDIO.sample_rate);
        let fault = CardFault::new("xtts.model_args.input_sample_rate", rate, needed);
        return Err(fault.into());
    }
    let card = ModelCard {
        gpt: gpt(checkpoint)?,
        dvae: match &checkpoint.dvae {
            Some(tensors) => check::dvae_of(tensors)?,
            None => DvaeConfig::RELEASED,
        },
        quirks: Quirks::Compat,
        audio: AUDIO,
        codes_mel: MelSpec::DVAE,
        conditioning_mel: MelSpec::CONDITIONING,
        conditioning: ConditioningSpec::XTTS,
        languages: checkpoint.config.languages.clone(),
        decoder: decoder(checkpoint)?,
        sampling: Some(SamplingDefaults::of(&checkpoint.config)),
    };
    check::check(&card, checkpoint).map_err(in_public_words)?;
    Ok(card)
}

/// The fields of the card by their names in `config.json`.
const NAMES: [(&str, &str); 14] = [
    ("gpt.layers", "xtts.model_args.gpt_layers"),
    ("gpt.channels", "xtts.model_args.gpt_n_model_channels"),
    ("gpt.heads", "xtts.model_args.gpt_n_heads"),
    (
        "gpt.vocabulary.start_text",
        "xtts.model_args.gpt_start_text_token",
    ),
    (
        "gpt.vocabulary.stop_text",
        "xtts.model_args.gpt_stop_text_token",
    ),
    (
        "gpt.vocabulary.max_text_tokens",
        "xtts.model_args.gpt_max_text_tokens",
    ),
    (
        "gpt.vocabulary.max_audio_tokens",
        "xtts.model_args.gpt_max_audio_tokens",
    ),
    (
        "gpt.vocabulary.codes",
        "xtts.model_args.gpt_start_audio_token",
    ),
    (
        "decoder.hifigan.output_rate",
        "xtts.model_args.output_sample_rate",
    ),
    (
        "decoder.hifigan.code_stride",
        "xtts.model_args.gpt_code_stride_len",
    ),
    (
        "decoder.hifigan.speaker_in_each_stage",
        "xtts.model_args.cond_d_vector_in_each_upsampling_layer",
    ),
    ("sampling.temperature", "xtts.temperature"),
    ("sampling.repetition_penalty", "xtts.repetition_penalty"),
    ("sampling.top_p", "xtts.top_p"),
];

fn in_public_words(error: InferError) -> InferError {
    let InferError::Field(mut fault) = error else {
        return error;
    };
    if let Some((_, name)) = NAMES.iter().find(|(field, _)| fault.field == *field) {
        fault.field = (*name).to_owned();
    } else if fault.field == "languages" {
        fault.field = "xtts.languages".to_owned();
    }
    InferError::Field(fault)
}

/// Returns the waveform decoder and its speaker encoder, by the shapes of their tensors.
fn decoder(checkpoint: &ModelWeights) -> Result<Option<DecoderCard>, InferError> {
    let args = &checkpoint.config.model_args;
    let tensors = &checkpoint.hifigan_decoder;
    let pre = waveform("conv_pre.weight");
    let embedding = "hifigan_decoder.speaker_encoder.fc.weight";
    if tensors.get(embedding).is_none() || tensors.get(&pre).is_none() {
        return Ok(None);
    }
    let shapes = Shapes {
        part: "waveform decoder",
        tensors,
    };
    let speaker = check::speaker_of(&shapes)?;
    let [channels, latent_dim, _] = shapes.of(&pre)?;
    let [_, speaker_dim, _] = shapes.of(&waveform("cond_layer.weight"))?;
    for (key, told, found) in [
        ("decoder_input_dim", args.decoder_input_dim, latent_dim),
        ("d_vector_dim", args.d_vector_dim, speaker_dim),
    ] {
        if told != found {
            let field = format!("xtts.model_args.{key}");
            let needed = format!("the waveform decoder has {found}");
            return Err(CardFault::new(field, told, needed).into());
        }
    }
    let Kernels { upsample, resblock } = Kernels::of(&shapes)?;
    let dilations = HifiganConfig::released().resblock_dilations;
    Ok(Some(DecoderCard {
        hifigan: HifiganConfig {
            input_rate: args.input_sample_rate,
            output_rate: args.output_sample_rate,
            code_stride: args.gpt_code_stride_len as usize,
            latent_dim,
            speaker_dim,
            channels,
            // A stage's rate does not follow from any shape; in the release it is half the taps.
            upsample_rates: upsample.iter().map(|taps| taps / 2).collect(),
            upsample_kernels: upsample,
            resblock_dilations: dilations.into_iter().cycle().take(resblock.len()).collect(),
            resblock_kernels: resblock,
            speaker_in_each_stage: args.cond_d_vector_in_each_upsampling_layer,
        },
        voice: VoiceKind::SpeakerEncoder(speaker),
    }))
}

/// Returns the full name of a tensor of the waveform decoder.
fn waveform(name: &str) -> String {
    format!("hifigan_decoder.waveform_decoder.{name}")
}

/// The taps of the convolutions of a waveform decoder.
struct Kernels {
    /// The taps of each stage.
    upsample: Vec<usize>,
    /// The taps of each block of a stage.
    resblock: Vec<usize>,
}

impl Kernels {
    fn of(shapes: &Shapes<'_>) -> Result<Self, InferError> {
        let taps = |of: &str| -> Result<usize, InferError> {
            let weight = waveform(&format!("{of}.parametrizations.weight.original1"));
            let [_, _, taps] = shapes.of(&weight)?;
            Ok(taps)
        };
        let stages = shapes.count(&waveform("ups."));
        let upsample: Result<Vec<usize>, _> = (0..stages)
            .map(|stage| taps(&format!("ups.{stage}")))
            .collect();
        let upsample = upsample?;
        let blocks = shapes.count(&waveform("resblocks.")) / stages.max(1);
        let resblock: Result<Vec<usize>, _> = (0..blocks)
            .map(|block| taps(&format!("resblocks.{block}.convs1.0")))
            .collect();
        Ok(Self {
            upsample,
            resblock: resblock?,
        })
    }
}

fn gpt(checkpoint: &ModelWeights) -> Result<GptConfig, InferError> {
    let args = &checkpoint.config.model_args;
    let tensors = &checkpoint.gpt;
    let [_, mel_bands, _] = shape(tensors, "gpt.conditioning_encoder.init.weight")?;
    let [latents, _] = shape(tensors, "gpt.conditioning_perceiver.latents")?;
    let [inner, _] = shape(tensors, "gpt.conditioning_perceiver.layers.0.0.to_q.weight")?;
    let shapes = gpt_shapes(tensors);
    // How channels are divided into heads does not follow from any shape; the release has one
    // number.
    let heads = PerceiverConfig::XTTS_V2.heads;
    Ok(GptConfig {
        layers: args.gpt_layers,
        channels: args.gpt_n_model_channels,
        heads: args.gpt_n_heads,
        vocabulary: vocabulary(checkpoint, args)?,
        mel_bands,
        encoder_blocks: shapes.count("gpt.conditioning_encoder.attn."),
        perceiver: PerceiverConfig {
            latents,
            depth: shapes.count("gpt.conditioning_perceiver.layers."),
            heads,
            head_channels: inner / heads,
        },
        dropout: 0.1,
        embedding_std: 1.0,
    })
}

fn vocabulary(checkpoint: &ModelWeights, args: &ModelArgs) -> Result<Vocabulary, InferError> {
    let text = vocabulary_of(checkpoint)?;
    let [text_tokens, _] = shape(&checkpoint.gpt, "gpt.text_embedding.weight")?;
    let codes = args.gpt_start_audio_token;
    let found = (args.gpt_num_audio_tokens, args.gpt_stop_audio_token);
    if found != (codes as usize + 2, codes.saturating_add(1)) {
        return Err(InferError::NotXttsV2(format!(
            "config.json has gpt_num_audio_tokens = {}, gpt_start_audio_token = {codes} and \
             gpt_stop_audio_token = {}: START and STOP must be the last two",
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

fn gpt_shapes(tensors: &TensorMap) -> Shapes<'_> {
    Shapes {
        part: "GPT",
        tensors,
    }
}

/// Returns the shape of a tensor that every XTTS v2 has.
fn shape<const D: usize>(tensors: &TensorMap, name: &str) -> Result<[usize; D], InferError> {
    gpt_shapes(tensors).of(name).map_err(|error| match error {
        InferError::Load { why, .. } => InferError::NotXttsV2(why.to_string()),
        other => other,
    })
}
