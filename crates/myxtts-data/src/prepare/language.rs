//! The language of lines that name none: the one that was given, or the one that
//! the letters point to. Letters that the language does not have are refused: a
//! Persian text read as English trains a voice on nothing.

use std::path::Path;

use myxtts_text::{Guess, Guesser, Language, Script};

use super::PrepareError;
use crate::layout::{self, Layout};

/// The number of lines looked at.
const LINES: usize = 5000;

/// Decides the language, before a recording is read.
pub(super) fn decide(
    given: Option<&str>,
    layout: &Layout,
    dataset: &Path,
) -> Result<Language, PrepareError> {
    let given: Option<Language> = given.map(str::parse).transpose()?;
    let metadata = |why| PrepareError::Metadata {
        path: dataset.to_owned(),
        why,
    };
    let mut guesser = Guesser::default();
    let mut texts = Vec::new();
    for row in layout::rows(layout).map_err(metadata)?.take(LINES) {
        // A line that cannot be read, or names its own language, says nothing.
        let Ok(entry) = row.map_err(metadata)? else {
            continue;
        };
        if entry.language.is_none() {
            guesser.add(&entry.text);
            texts.push(entry.text);
        }
    }
    let guess = guesser.guess();
    let example = |script: Script| {
        let of_script = |text: &&String| Script::main_of(text) == Some(script);
        texts.iter().find(of_script).cloned().unwrap_or_default()
    };
    match given {
        Some(language) => match guesser.misfits(&language) {
            (all, misfits, Some(script)) if 2 * misfits > all => Err(PrepareError::WrongScript {
                path: dataset.to_owned(),
                language: language.to_string(),
                script,
                misfits,
                all,
                example: example(script),
                fix: match guess {
                    Guess::Clear(likely) => likely.to_string(),
                    Guess::Unclear {
                        likely: Some(likely),
                        ..
                    } => likely.to_string(),
                    _ => "TAG".to_owned(),
                },
            }),
            _ => Ok(language),
        },
        None => match guess {
            Guess::Clear(language) => Ok(language),
            // Without a letter every clip is bad, and the report says so.
            Guess::Nothing => Ok("en".parse()?),
            Guess::Unclear { script, likely } => Err(PrepareError::WhichLanguage {
                path: dataset.to_owned(),
                script,
                example: example(script),
                fix: likely.map_or_else(|| "TAG".to_owned(), |likely| likely.to_string()),
            }),
        },
    }
}
