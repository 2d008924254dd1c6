//! What a client asks for, checked.

use std::fmt::Display;
use std::ops::RangeInclusive;

use axum::http::StatusCode;
use myxtts_infer::{SamplingDefaults, SpeakOptions};
use myxtts_model::generate::SamplingConfig;
use myxtts_text::Language;
use serde::Deserialize;

use super::answer::{Delivery, Form};
use crate::error::{ApiError, plain};
use crate::format::Format;
use crate::http::{App, unknown_model};

/// The speeds that OpenAI's API allows.
const SPEEDS: RangeInclusive<f64> = 0.25..=4.0;

/// Model names that clients have built in; there is one model here, and they mean it.
const USUAL_MODELS: [&str; 3] = ["tts-1", "tts-1-hd", "gpt-4o-mini-tts"];

/// The body as it is sent. An unknown field is refused: what a client asks for is
/// done, or the client is told.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    model: Option<String>,
    input: String,
    voice: Option<RawVoice>,
    response_format: Option<String>,
    speed: Option<f64>,
    stream: Option<bool>,
    stream_format: Option<String>,
    instructions: Option<String>,
    // Not in OpenAI's API.
    language: Option<String>,
    seed: Option<u64>,
    temperature: Option<f32>,
    top_k: Option<u32>,
    top_p: Option<f32>,
    repetition_penalty: Option<f32>,
}

/// A voice by name, in either of the forms that clients send.
#[derive(Deserialize)]
#[serde(untagged)]
enum RawVoice {
    Name(String),
    Object { id: String },
}

/// A request that can be served.
pub(super) struct Wanted {
    pub(super) text: String,
    pub(super) voice: String,
    pub(super) options: SpeakOptions,
    pub(super) form: Form,
}

/// Reads and checks a body.
pub(super) fn read(body: &[u8], app: &App) -> Result<Wanted, ApiError> {
    let raw: Raw = serde_json::from_slice(body).map_err(|why| {
        let words = format!("the body of the request cannot be read: {why}");
        ApiError::new(StatusCode::BAD_REQUEST, words).with_code("invalid_json")
    })?;
    if let Some(asked) = &raw.model
        && *asked != app.config.model
        && !USUAL_MODELS.contains(&asked.as_str())
    {
        return Err(unknown_model(app, asked));
    }
    if raw
        .instructions
        .as_ref()
        .is_some_and(|text| !text.is_empty())
    {
        let words = "this model speaks as its voice does and cannot be told how: leave \
                     `instructions` out";
        return Err(ApiError::request("instructions", words));
    }
    check_text(&raw.input, app.config.max_text)?;
    let form = form(&raw)?;
    Ok(Wanted {
        voice: voice(raw.voice.as_ref(), app)?,
        options: options(&raw, app, form.delivery)?,
        text: raw.input,
        form,
    })
}

fn check_text(text: &str, most: usize) -> Result<(), ApiError> {
    let length = text.chars().count();
    if length > most {
        let words = format!("the text is {length} characters long, but at most {most} are allowed");
        return Err(ApiError::request("input", words).with_code("string_above_max_length"));
    }
    Ok(())
}

fn form(raw: &Raw) -> Result<Form, ApiError> {
    let asked = raw.response_format.as_deref();
    let format = Format::named(asked.unwrap_or("mp3")).ok_or_else(|| {
        let known = Format::ALL.map(|(name, _)| name).join(", ");
        let asked = asked.unwrap_or_default();
        let words = format!("there is no format `{asked}` here: this server makes {known}");
        ApiError::request("response_format", words)
    })?;
    let delivery = match (raw.stream, raw.stream_format.as_deref()) {
        (None | Some(false), None) => Delivery::Whole,
        (None | Some(true), Some("audio")) | (Some(true), None) => Delivery::Stream,
        (None | Some(true), Some("sse")) => Delivery::Events,
        (Some(false), Some("audio" | "sse")) => {
            let words = "`stream` is false and `stream_format` asks for a stream: send one of them";
            return Err(ApiError::request("stream", words));
        }
        (_, Some(other)) => {
            let words =
                format!("there is no stream format `{other}`: this server makes audio and sse");
            return Err(ApiError::request("stream_format", words));
        }
    };
    Ok(Form { format, delivery })
}

/// Returns the name of a voice that is there. What was asked is only compared with
/// names, so it never becomes a path.
fn voice(asked: Option<&RawVoice>, app: &App) -> Result<String, ApiError> {
    let voices = &app.model.voices;
    let Some(asked) = asked else {
        let first = voices.first().map(|(name, _)| name.clone());
        return first.ok_or_else(|| ApiError::request("voice", "there is no voice here"));
    };
    let (RawVoice::Name(asked) | RawVoice::Object { id: asked }) = asked;
    if voices.iter().any(|(name, _)| name == asked) {
        return Ok(asked.clone());
    }
    // Enough of them are listed to see what names look like.
    let names: Vec<&str> = voices.iter().map(|(name, _)| name.as_str()).collect();
    let (shown, more) = names.split_at(names.len().min(20));
    let more = match more.len() {
        0 => String::new(),
        count => format!(" and {count} more (GET /v1/voices)"),
    };
    let shown = shown.join(", ");
    let asked: String = asked.escape_debug().take(80).collect();
    let words = format!("there is no voice `{asked}` here: there are {shown}{more}");
    Err(ApiError::request("voice", words).with_code("voice_not_found"))
}

fn options(raw: &Raw, app: &App, delivery: Delivery) -> Result<SpeakOptions, ApiError> {
    let card = &app.model.card;
    let usual = card.sampling();
    let drawn = SamplingDefaults {
        temperature: within(
            "temperature",
            raw.temperature.unwrap_or(usual.temperature),
            SamplingDefaults::TEMPERATURES,
        )?,
        repetition_penalty: within(
            "repetition_penalty",
            raw.repetition_penalty.unwrap_or(usual.repetition_penalty),
            SamplingDefaults::PENALTIES,
        )?,
        top_k: raw.top_k.unwrap_or(usual.top_k),
        top_p: within(
            "top_p",
            raw.top_p.unwrap_or(usual.top_p),
            SamplingDefaults::SHARES,
        )?,
    };
    let sampling: SamplingConfig = drawn.with_seed(raw.seed.unwrap_or_default(), card.quirks);
    Ok(SpeakOptions {
        language: language(raw.language.as_deref(), app)?,
        sampling,
        vocoder: app.model.vocoder,
        speed: within("speed", raw.speed.unwrap_or(1.0), SPEEDS)?,
        stream: delivery != Delivery::Whole,
    })
}

fn within<T: PartialOrd + Display>(
    field: &'static str,
    value: T,
    range: RangeInclusive<T>,
) -> Result<T, ApiError> {
    if range.contains(&value) {
        return Ok(value);
    }
    let (least, most) = (range.start(), range.end());
    let words = format!("`{field}` is {value}, but {least} to {most} is allowed");
    Err(ApiError::request(field, words))
}

/// Returns the language that is asked for, else the server's, else the model's only
/// one.
fn language(asked: Option<&str>, app: &App) -> Result<Language, ApiError> {
    let spoken = &app.model.card.languages;
    let only = || match spoken.as_slice() {
        [only] => Some(only.as_str()),
        _ => None,
    };
    let Some(tag) = asked.or_else(only) else {
        return app.config.language.clone().ok_or_else(|| {
            let spoken = spoken.join(", ");
            let words =
                format!("which language? the model speaks {spoken}: name one in `language`");
            ApiError::request("language", words)
        });
    };
    if let (None, Some(usual)) = (asked, &app.config.language) {
        return Ok(usual.clone());
    }
    tag.parse()
        .map_err(|why| ApiError::request("language", plain(&format!("{why}"))))
}
