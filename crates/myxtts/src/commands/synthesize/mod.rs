//! `myxtts synthesize`
//!
//! ```text
//! flags -> Request ─> Model ─> Voice ─┬─> one text ─> a file, or stdout
//!                                     ├─> many lines ─> a folder
//!                                     └─> a .voice file
//! ```
//!
//! What can be checked before the model is loaded is checked first: texts, outputs, recordings.

mod batch;
mod interrupt;
mod list;
mod report;
mod request;
mod single;
mod stdout;
mod text;

use std::path::{Path, PathBuf};

use clap::ArgMatches;
use myxtts::speech::Chosen;
use myxtts::{InferError, VoiceSource};

use crate::output::{Failure, Output};
use request::Request;

pub(super) fn run(matches: &ArgMatches, output: &Output) -> Result<(), Failure> {
    if matches.get_flag("list-voices") {
        return list::run(matches, output);
    }
    match Request::of(matches, output)? {
        Request::One(wanted) => single::run(matches, wanted, output),
        Request::Lines { lines, folder } => batch::run(matches, lines, folder, output),
    }
}

/// Returns how the flags ask to speak.
pub(super) fn chosen(matches: &ArgMatches) -> Chosen {
    let number = |name: &str| matches.get_one::<f32>(name).copied();
    Chosen {
        language: matches.get_one("language").cloned(),
        vocoder: matches.get_one("vocoder").copied(),
        speed: matches.get_one("speed").copied(),
        seed: matches.get_one("seed").copied(),
        greedy: matches.get_flag("greedy"),
        beams: matches.get_one("beams").copied(),
        length_penalty: number("length-penalty"),
        temperature: number("temperature"),
        top_k: matches.get_one("top-k").copied(),
        top_p: number("top-p"),
        repetition_penalty: number("repetition-penalty"),
    }
}

/// Returns the voice that the flags ask for; the first stored one if they ask for none.
pub(super) fn voice_source(
    matches: &ArgMatches,
    checkpoint: &Path,
) -> Result<VoiceSource, Failure> {
    if let Some(given) = matches.get_many::<PathBuf>("speaker-wav") {
        return Ok(VoiceSource::recordings(given.cloned().collect())?);
    }
    if let Some(file) = matches.get_one::<PathBuf>("voice") {
        return Ok(VoiceSource::file(file)?);
    }
    let wanted = matches.get_one::<String>("speaker");
    Ok(VoiceSource::named(wanted.map(String::as_str), checkpoint)?)
}

/// Turns an error into a failure of usage or of the job.
pub(super) fn failure(error: InferError) -> Failure {
    let words = error.to_string();
    match error {
        InferError::NoCheckpoint { .. }
        | InferError::NoGpt { .. }
        | InferError::NoBest { .. }
        | InferError::NoText
        | InferError::Unspeakable { .. }
        | InferError::Language(_)
        | InferError::TooLong(_)
        | InferError::NoReference
        | InferError::ShortReference { .. }
        | InferError::SilentReference { .. }
        | InferError::Voice { .. }
        | InferError::VoiceFile(_)
        | InferError::NoVoiceVector => Failure::usage(words),
        _ => Failure::job(words),
    }
}
