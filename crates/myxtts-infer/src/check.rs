//! Checks whether a card can be true: each field against the others and against the shapes of
//! the tensors, before anything is built or allocated.
//!
//! A card is data from a stranger. Sizes that follow from a tensor are compared with it, so that
//! none is larger than a file; sizes that follow from no tensor are bounded.

use std::collections::BTreeSet;
use std::fmt::Display;

use myxtts_audio::MelSpec;
use myxtts_audio::units::{Samples, Seconds};
use myxtts_model::dvae::DvaeConfig;
use myxtts_model::hifigan::HifiganConfig;
use myxtts_model::params::LoadError;
use myxtts_model::speaker::SpeakerConfig;
use myxtts_text::{Language, Vocabulary};
use myxtts_weights::{ModelWeights, TensorMap};
use serde_json::json;

use crate::card::{DecoderCard, ModelCard, VoiceKind};
use crate::error::InferError;

/// A field of a card that cannot be true.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CardFault {
    /// The dotted path of the field.
    pub field: String,
    /// The value that was found.
    pub found: String,
    /// What the value would have to be, as the second half of a sentence.
    pub needed: String,
}

impl CardFault {
    pub(crate) fn new(
        field: impl Into<String>,
        found: impl Display,
        needed: impl Into<String>,
    ) -> Self {
        Self {
            field: field.into(),
            found: found.to_string(),
            needed: needed.into(),
        }
    }
}

/// The longest conditioning segment: ten times what the release was trained with.
const LONGEST_SEGMENT: Seconds = Seconds(60.0);
/// A bound on widths and numbers of layers that no XTTS comes near.
const LARGEST: usize = 1 << 16;
/// The largest number of stages, blocks and dilations of a waveform decoder.
const MOST_PARTS: usize = 16;
/// The sample rates that are accepted, in Hz.
const RATES: std::ops::RangeInclusive<u32> = 8_000..=192_000;

/// Checks a card against itself and against the weights it came with.
pub(crate) fn check(card: &ModelCard, checkpoint: &ModelWeights) -> Result<(), InferError> {
    check_gpt(card, &checkpoint.gpt)?;
    // The tensors do not say how channels are divided into heads, and any divisor would load and
    // speak differently: the two places that say it must agree.
    same(
        "gpt.heads",
        card.gpt.heads,
        checkpoint.config.model_args.gpt_n_heads,
        "xtts.model_args.gpt_n_heads",
    )?;
    check_vocabulary(card, checkpoint)?;
    check_dvae(&card.dvae)?;
    if let Some(tensors) = &checkpoint.dvae {
        check_dvae_tensors(&card.dvae, tensors)?;
        let (spoken, codes) = (card.gpt.vocabulary.codes, card.dvae.codes);
        if codes < spoken as usize {
            return Err(InferError::Codes {
                gpt: spoken,
                dvae: codes,
            });
        }
    }
    check_hearing(card)?;
    if let Some(stats) = &checkpoint.mel_stats {
        let stats = stats.to_f32();
        for spec in [card.codes_mel, card.conditioning_mel] {
            spec.check(Some(&stats))?;
        }
    }
    for tag in &card.languages {
        if tag.parse::<Language>().is_err() {
            let needed = "a language tag like `fa` or `zh-cn` is needed";
            return Err(CardFault::new("languages", format!("`{tag}`"), needed).into());
        }
    }
    if let Some(sampling) = &card.sampling {
        sampling.check()?;
    }
    match &card.decoder {
        Some(decoder) => check_decoder(card, decoder, &checkpoint.hifigan_decoder),
        None => Ok(()),
    }
}

fn check_gpt(card: &ModelCard, tensors: &TensorMap) -> Result<(), InferError> {
    let gpt = &card.gpt;
    let shape = Shapes {
        part: "GPT",
        tensors,
    };
    let text = "gpt.text_embedding.weight";
    let [text_tokens, channels] = shape.of(text)?;
    same("gpt.channels", gpt.channels, channels, text)?;
    let vocabulary = &gpt.vocabulary;
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
    )?;
    let name = "gpt.conditioning_encoder.init.weight";
    let [_, bands, _] = shape.of(name)?;
    same("gpt.mel_bands", gpt.mel_bands, bands, name)?;
    let blocks = shape.count("gpt.conditioning_encoder.attn.");
    let name = "gpt.conditioning_encoder.attn.*";
    same("gpt.encoder_blocks", gpt.encoder_blocks, blocks, name)?;
    let perceiver = &gpt.perceiver;
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
    for (field, size) in [
        ("gpt.channels", gpt.channels),
        ("gpt.layers", gpt.layers),
        ("gpt.mel_bands", gpt.mel_bands),
        ("gpt.perceiver.latents", perceiver.latents),
        ("gpt.vocabulary.codes", codes),
        (
            "gpt.vocabulary.max_audio_tokens",
            vocabulary.max_new_codes(),
        ),
    ] {
        if size == 0 {
            return fault(field, size, "more is needed");
        }
    }
    if gpt.heads == 0 || !channels.is_multiple_of(gpt.heads) {
        let needed = format!("a divisor of gpt.channels = {channels} is needed");
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

/// Checks that START and STOP are rows of the text embedding, and those that the vocabulary has.
fn check_vocabulary(card: &ModelCard, checkpoint: &ModelWeights) -> Result<(), InferError> {
    let symbols = &card.gpt.vocabulary;
    let tokens = [
        ("gpt.vocabulary.start_text", symbols.start_text),
        ("gpt.vocabulary.stop_text", symbols.stop_text),
    ];
    for (field, token) in tokens {
        if token as usize >= symbols.text_tokens {
            let needed = format!("a token below {} is needed", symbols.text_tokens);
            return fault(field, token, needed);
        }
    }
    let Some(bytes) = &checkpoint.vocabulary else {
        return Ok(());
    };
    let vocabulary = Vocabulary::from_json(bytes)?;
    let specials = [
        ("[START]", vocabulary.start()),
        ("[STOP]", vocabulary.stop()),
    ];
    for ((field, token), (name, id)) in tokens.into_iter().zip(specials) {
        if token != id {
            let needed = format!("{name} of vocab.json is token {id}");
            return fault(field, token, needed);
        }
    }
    Ok(())
}

/// Checks the bounds that hold with or without tensors.
fn check_dvae(dvae: &DvaeConfig) -> Result<(), InferError> {
    dvae.check().map_err(|why| {
        CardFault::new(format!("dvae.{}", why.key), why.value, {
            format!("{} is needed", why.needed)
        })
    })?;
    for (field, size) in [
        ("dvae.channels", dvae.channels),
        ("dvae.hidden", dvae.hidden),
        ("dvae.resnet_blocks", dvae.resnet_blocks),
        ("dvae.kernel", dvae.kernel),
        ("dvae.codes", dvae.codes),
        ("dvae.codebook_dim", dvae.codebook_dim),
    ] {
        at_most(field, size, LARGEST)?;
    }
    Ok(())
}

fn check_dvae_tensors(dvae: &DvaeConfig, tensors: &TensorMap) -> Result<(), InferError> {
    let found = dvae_of(tensors)?;
    let DvaeConfig {
        channels,
        hidden,
        layers,
        resnet_blocks,
        kernel,
        codes,
        codebook_dim,
    } = *dvae;
    let first = "encoder.0.0.weight of the DVAE";
    let book = "codebook.embed of the DVAE";
    same("dvae.hidden", hidden, found.hidden, first)?;
    same("dvae.channels", channels, found.channels, first)?;
    same("dvae.kernel", kernel, found.kernel, first)?;
    same("dvae.codebook_dim", codebook_dim, found.codebook_dim, book)?;
    same("dvae.codes", codes, found.codes, book)?;
    let all = "encoder.* of the DVAE";
    same("dvae.layers", layers, found.layers, all)?;
    same(
        "dvae.resnet_blocks",
        resnet_blocks,
        found.resnet_blocks,
        all,
    )
}

/// Returns the sizes that follow from the tensors of a DVAE.
pub(crate) fn dvae_of(tensors: &TensorMap) -> Result<DvaeConfig, InferError> {
    let shape = Shapes {
        part: "DVAE",
        tensors,
    };
    let [hidden, channels, kernel] = shape.of("encoder.0.0.weight")?;
    let [codebook_dim, codes] = shape.of("codebook.embed")?;
    let with = |suffix: &str| {
        let names = tensors.names().filter(|name| {
            let inner = name.strip_prefix("encoder.");
            inner
                .and_then(|name| name.split_once('.'))
                .is_some_and(|(_, rest)| rest == suffix)
        });
        names.count()
    };
    Ok(DvaeConfig {
        channels,
        hidden,
        layers: with("0.weight"),
        resnet_blocks: with("net.0.weight"),
        kernel,
        codes,
        codebook_dim,
    })
}

/// Checks the rates, mels and segments that turn a recording into input.
fn check_hearing(card: &ModelCard) -> Result<(), InferError> {
    let rate = card.audio.sample_rate;
    if !RATES.contains(&rate.hz()) {
        let needed = format!("{} to {} Hz is needed", RATES.start(), RATES.end());
        return fault("audio.sample_rate", rate.hz(), needed);
    }
    // Training uses these front ends and no others, and so must speaking.
    check_mel("codes_mel", &card.codes_mel, &MelSpec::DVAE)?;
    check_mel(
        "conditioning_mel",
        &card.conditioning_mel,
        &MelSpec::CONDITIONING,
    )?;
    for (field, found, mel) in [
        (
            "audio.sample_rate",
            rate.hz() as usize,
            card.codes_mel.sample_rate.hz() as usize,
        ),
        ("dvae.channels", card.dvae.channels, card.codes_mel.bands),
        (
            "gpt.mel_bands",
            card.gpt.mel_bands,
            card.conditioning_mel.bands,
        ),
    ] {
        if found != mel {
            return fault(field, found, format!("the mels of XTTS have {mel}"));
        }
    }
    let segment = card.conditioning;
    let least = card.conditioning_mel.shortest();
    let most = Samples::in_time(LONGEST_SEGMENT, rate);
    if segment.max < least || segment.max > most {
        let needed = format!("{} to {} samples are needed", least.0, most.0);
        return fault("conditioning.max", segment.max.0, needed);
    }
    if segment.min.0 == 0 || segment.min > segment.max {
        let needed = format!("1 to conditioning.max = {} is needed", segment.max.0);
        return fault("conditioning.min", segment.min.0, needed);
    }
    Ok(())
}

/// Returns an error for the first constant that is not the one of XTTS.
fn check_mel(name: &str, spec: &MelSpec, needed: &MelSpec) -> Result<(), InferError> {
    // JSON cannot represent a number that is not finite.
    if let (Some(amount), None) = (spec.pre_emphasis, needed.pre_emphasis) {
        return fault(&format!("{name}.pre_emphasis"), amount, "XTTS has none");
    }
    let [found, needed] = [spec, needed].map(|spec| json!(spec));
    let fields = needed.as_object().into_iter().flatten();
    for (field, needed) in fields {
        let found = &found[field];
        if found != needed {
            let needed = format!("XTTS has {needed}");
            return fault(&format!("{name}.{field}"), found, needed);
        }
    }
    Ok(())
}

fn check_decoder(
    card: &ModelCard,
    decoder: &DecoderCard,
    tensors: &TensorMap,
) -> Result<(), InferError> {
    let hifigan = &decoder.hifigan;
    let impossible =
        |why: String| CardFault::new("decoder.hifigan", why, "no decoder can have these sizes");
    check_hifigan(hifigan)?;
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
            check_speaker(&speaker)?;
            ("decoder.voice.embedding_dim", speaker.embedding_dim)
        }
    };
    if hifigan.speaker_dim != vector.1 {
        let needed = format!("{} is {}", vector.0, vector.1);
        return fault("decoder.hifigan.speaker_dim", hifigan.speaker_dim, needed);
    }
    hifigan.check().map_err(|why| impossible(why.to_string()))?;
    if tensors.is_empty() {
        return Ok(());
    }
    let shape = Shapes {
        part: "waveform decoder",
        tensors,
    };
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
    if let VoiceKind::SpeakerEncoder(speaker) = decoder.voice {
        check_speaker_tensors(&speaker, &shape)?;
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

fn check_speaker(speaker: &SpeakerConfig) -> Result<(), InferError> {
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

fn check_speaker_tensors(speaker: &SpeakerConfig, shape: &Shapes<'_>) -> Result<(), InferError> {
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

/// The shapes of the tensors of one part.
pub(crate) struct Shapes<'a> {
    pub(crate) part: &'static str,
    pub(crate) tensors: &'a TensorMap,
}

impl Shapes<'_> {
    pub(crate) fn of<const D: usize>(&self, name: &str) -> Result<[usize; D], InferError> {
        let wrong = |why| InferError::Load {
            part: self.part,
            why,
        };
        let missing = || wrong(LoadError::Missing(name.to_owned()));
        let tensor = self.tensors.get(name).ok_or_else(missing)?;
        <[usize; D]>::try_from(tensor.shape()).map_err(|_| {
            wrong(LoadError::Dimensions {
                name: name.to_owned(),
                found: tensor.shape().to_vec(),
                needed: D,
            })
        })
    }

    /// Returns how many different numbers follow a prefix in the tensors' names.
    pub(crate) fn count(&self, prefix: &str) -> usize {
        let numbers: BTreeSet<&str> = self
            .tensors
            .names()
            .filter_map(|name| name.strip_prefix(prefix)?.split('.').next())
            .collect();
        numbers.len()
    }
}

fn same(field: &str, found: usize, told: usize, by: &str) -> Result<(), InferError> {
    match found == told {
        true => Ok(()),
        false => fault(field, found, format!("`{by}` has {told}")),
    }
}

fn at_most(field: &str, size: usize, most: usize) -> Result<(), InferError> {
    match size <= most {
        true => Ok(()),
        false => fault(field, size, format!("at most {most} is possible")),
    }
}

fn fault(field: &str, found: impl Display, needed: impl Into<String>) -> Result<(), InferError> {
    Err(CardFault::new(field, found, needed).into())
}
