//! The public `config.json`.
//!
//! The sizes have no defaults here: the public implementation's own defaults are
//! those of XTTS-v1, so a missing size would be a guess. Keys we do not use are
//! kept and written back.

mod field;
mod json;

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::{Fault, WeightsError};

pub use field::{Misfit, misfit};

/// The configuration of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct XttsConfig {
    /// What the model is made of.
    pub model_args: ModelArgs,
    /// The tags of the languages.
    #[serde(default)]
    pub languages: Vec<String>,
    /// The temperature of sampling.
    #[serde(default = "released::temperature")]
    pub temperature: f64,
    /// The exponent of the length in beam search.
    #[serde(default = "released::length_penalty")]
    pub length_penalty: f64,
    /// The penalty on codes that were drawn before.
    #[serde(default = "released::repetition_penalty")]
    pub repetition_penalty: f64,
    /// The number of codes to draw from.
    #[serde(default = "released::top_k")]
    pub top_k: u32,
    /// The share of probability to draw from.
    #[serde(default = "released::top_p")]
    pub top_p: f64,
    /// The seconds of the reference that condition the GPT.
    #[serde(default = "released::gpt_cond_len")]
    pub gpt_cond_len: u32,
    /// The seconds of one piece of that conditioning.
    #[serde(default = "released::gpt_cond_chunk_len")]
    pub gpt_cond_chunk_len: u32,
    /// The seconds of the reference that are used at all.
    #[serde(default = "released::max_ref_len")]
    pub max_ref_len: u32,
    /// Whether references are brought to one level.
    #[serde(default)]
    pub sound_norm_refs: bool,
    /// Every other key, kept as it is.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// What a model is made of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelArgs {
    /// The number of transformer layers.
    pub gpt_layers: usize,
    /// The width of the transformer.
    pub gpt_n_model_channels: usize,
    /// The number of attention heads.
    pub gpt_n_heads: usize,
    /// The longest text, in tokens.
    pub gpt_max_text_tokens: usize,
    /// The longest audio, in codes.
    pub gpt_max_audio_tokens: usize,
    /// The longest conditioning, in tokens.
    pub gpt_max_prompt_tokens: usize,
    /// The number of rows of the text embedding; taken from the vocabulary if `null`.
    #[serde(default)]
    pub gpt_number_text_tokens: Option<usize>,
    /// The token that opens a text; taken from the vocabulary if `null`.
    #[serde(default)]
    pub gpt_start_text_token: Option<u32>,
    /// The token that closes a text; taken from the vocabulary if `null`.
    #[serde(default)]
    pub gpt_stop_text_token: Option<u32>,
    /// The number of codes, with start and stop.
    pub gpt_num_audio_tokens: usize,
    /// The code that opens audio.
    pub gpt_start_audio_token: u32,
    /// The code that closes audio.
    pub gpt_stop_audio_token: u32,
    /// The samples of one code.
    #[serde(default = "released::code_stride")]
    pub gpt_code_stride_len: u32,
    /// Whether the conditioning slice is masked out of the loss.
    #[serde(default = "released::yes")]
    pub gpt_use_masking_gt_prompt_approach: bool,
    /// Whether conditioning goes through the perceiver resampler.
    pub gpt_use_perceiver_resampler: bool,
    /// The sample rate of recordings, in Hz.
    pub input_sample_rate: u32,
    /// The sample rate of the vocoder, in Hz.
    pub output_sample_rate: u32,
    /// The samples of one output frame.
    #[serde(default = "released::output_hop")]
    pub output_hop_length: u32,
    /// The width of the vocoder's input.
    pub decoder_input_dim: usize,
    /// The width of the speaker embedding.
    pub d_vector_dim: usize,
    /// Whether every upsampling layer is conditioned on the speaker.
    #[serde(default = "released::yes")]
    pub cond_d_vector_in_each_upsampling_layer: bool,
    /// Every other key, kept as it is.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// The values XTTS-v2 was released with.
mod released {
    pub(super) fn temperature() -> f64 {
        0.75
    }
    pub(super) fn length_penalty() -> f64 {
        1.0
    }
    pub(super) fn repetition_penalty() -> f64 {
        5.0
    }
    pub(super) fn top_k() -> u32 {
        50
    }
    pub(super) fn top_p() -> f64 {
        0.85
    }
    pub(super) fn gpt_cond_len() -> u32 {
        30
    }
    pub(super) fn gpt_cond_chunk_len() -> u32 {
        4
    }
    pub(super) fn max_ref_len() -> u32 {
        30
    }
    pub(super) fn code_stride() -> u32 {
        1024
    }
    pub(super) fn output_hop() -> u32 {
        256
    }
    pub(super) fn yes() -> bool {
        true
    }
}

/// The languages XTTS-v2 was released with.
const LANGUAGES: [&str; 17] = [
    "en", "es", "fr", "de", "it", "pt", "pl", "tr", "ru", "nl", "cs", "ar", "zh-cn", "hu", "ko",
    "ja", "hi",
];

impl Default for XttsConfig {
    /// Returns XTTS-v2 as it was released.
    fn default() -> Self {
        Self {
            model_args: ModelArgs::default(),
            languages: LANGUAGES.map(str::to_owned).to_vec(),
            temperature: released::temperature(),
            length_penalty: released::length_penalty(),
            repetition_penalty: released::repetition_penalty(),
            top_k: released::top_k(),
            top_p: released::top_p(),
            gpt_cond_len: released::gpt_cond_len(),
            gpt_cond_chunk_len: released::gpt_cond_chunk_len(),
            max_ref_len: released::max_ref_len(),
            sound_norm_refs: false,
            // The public implementation finds the class of a model by this key.
            other: Map::from_iter([("model".to_owned(), "xtts".into())]),
        }
    }
}

impl Default for ModelArgs {
    fn default() -> Self {
        Self {
            gpt_layers: 30,
            gpt_n_model_channels: 1024,
            gpt_n_heads: 16,
            gpt_max_text_tokens: 402,
            gpt_max_audio_tokens: 605,
            gpt_max_prompt_tokens: 70,
            gpt_number_text_tokens: Some(6681),
            gpt_start_text_token: None,
            gpt_stop_text_token: None,
            gpt_num_audio_tokens: 1026,
            gpt_start_audio_token: 1024,
            gpt_stop_audio_token: 1025,
            gpt_code_stride_len: released::code_stride(),
            gpt_use_masking_gt_prompt_approach: true,
            gpt_use_perceiver_resampler: true,
            input_sample_rate: 22_050,
            output_sample_rate: 24_000,
            output_hop_length: released::output_hop(),
            decoder_input_dim: 1024,
            d_vector_dim: 512,
            cond_d_vector_in_each_upsampling_layer: true,
            other: Map::new(),
        }
    }
}

impl XttsConfig {
    /// Reads a public `config.json`.
    pub(crate) fn read(path: &Path) -> Result<Self, WeightsError> {
        let read = || {
            let text = std::fs::read_to_string(path)?;
            let config = Self::from_json(&text)?;
            Ok(config)
        };
        read().map_err(|fault| WeightsError::read(path, fault))
    }

    /// Reads the text of a public `config.json`, which may hold `Infinity`.
    pub fn from_json(text: &str) -> Result<Self, Fault> {
        let config: Self = json::read(text).map_err(|why| {
            // A document that is JSON has a field to name.
            let value: Option<Value> = json::read(text).ok();
            match value.and_then(|value| misfit(&value, &Self::default())) {
                Some(misfit) => Fault::Field(misfit.field, misfit.why),
                None => Fault::Json(why),
            }
        })?;
        config.check()?;
        Ok(config)
    }

    /// Refuses numbers that contradict each other, whatever the weights are.
    pub(crate) fn check(&self) -> Result<(), Fault> {
        let args = &self.model_args;
        let wrong = |key: &str, expected, found: usize| Fault::ConfigKey {
            key: format!("model_args.{key}"),
            expected,
            found: found.to_string(),
        };
        let sizes = [
            ("gpt_layers", args.gpt_layers),
            ("gpt_n_model_channels", args.gpt_n_model_channels),
            ("gpt_max_text_tokens", args.gpt_max_text_tokens),
            ("gpt_max_audio_tokens", args.gpt_max_audio_tokens),
            ("gpt_code_stride_len", args.gpt_code_stride_len as usize),
            ("input_sample_rate", args.input_sample_rate as usize),
            ("output_sample_rate", args.output_sample_rate as usize),
            ("decoder_input_dim", args.decoder_input_dim),
            ("d_vector_dim", args.d_vector_dim),
        ];
        if let Some((key, size)) = sizes.into_iter().find(|(_, size)| *size == 0) {
            return Err(wrong(key, "at least 1", size));
        }
        if args.gpt_n_heads == 0 || !args.gpt_n_model_channels.is_multiple_of(args.gpt_n_heads) {
            let expected = "a divisor of gpt_n_model_channels";
            return Err(wrong("gpt_n_heads", expected, args.gpt_n_heads));
        }
        for (key, token) in [
            ("gpt_start_audio_token", args.gpt_start_audio_token),
            ("gpt_stop_audio_token", args.gpt_stop_audio_token),
        ] {
            let token = usize::try_from(token).unwrap_or(usize::MAX);
            if token >= args.gpt_num_audio_tokens {
                return Err(wrong(key, "below gpt_num_audio_tokens", token));
            }
        }
        Ok(())
    }

    /// Returns the text of a public `config.json`.
    pub fn to_json(&self) -> Result<String, Fault> {
        json::write(self).map_err(Fault::Json)
    }
}
