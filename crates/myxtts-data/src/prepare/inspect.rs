//! One row of the dataset: what it is, or why it is rejected. This runs on the
//! workers and holds one waveform at a time.

use std::path::{Path, PathBuf};

use myxtts_audio::units::Samples;
use myxtts_audio::{Loader, Source, Waveform};
use myxtts_text::{Cleaned, Language, clean};

use super::checks::{
    BAD_LANGUAGE, BAD_LINE, EMPTY_TEXT, Rejection, is_clipped, length, script, silence,
    text_length, unreadable,
};
use super::convert::{convert, plain_loader};
use super::{PrepareError, Request};
use crate::layout::{Entry, LinePlace, Row};
use crate::units::Tokens;

/// A row on its way to a worker.
pub(super) struct Job {
    pub(super) id: String,
    pub(super) row: Row,
}

/// What became of a row.
pub(super) enum Outcome {
    Accepted(Box<Accepted>),
    Rejected(Box<Rejected>),
}

/// A clip that passes on its own; what is wrong between clips is found later.
pub(super) struct Accepted {
    pub(super) id: String,
    pub(super) entry: Entry,
    pub(super) language: Language,
    pub(super) cleaned: Cleaned,
    pub(super) tokens: Tokens,
    /// The recording to train on.
    pub(super) audio: PathBuf,
    pub(super) converted: bool,
    pub(super) recording: Recording,
}

/// What was heard in a recording.
pub(super) struct Recording {
    pub(super) samples: Samples,
    pub(super) source: Source,
    pub(super) content: blake3::Hash,
    /// The hash of the waveform, so that the same sound in another file is recognised.
    pub(super) sound: [u8; 16],
    pub(super) clipped: bool,
}

/// A row that is not kept.
pub(super) struct Rejected {
    pub(super) place: LinePlace,
    pub(super) audio: Option<PathBuf>,
    pub(super) text: Option<String>,
    pub(super) rejection: Rejection,
}

/// Reads clips, one at a time.
pub(super) struct Inspector<'r> {
    request: &'r Request<'r>,
    language: &'r Language,
    /// The folder for converted recordings, and the loader that reads them.
    conversion: Option<(&'r Path, Loader)>,
    loader: Loader,
}

impl<'r> Inspector<'r> {
    pub(super) fn new(
        request: &'r Request<'r>,
        language: &'r Language,
        conversion: Option<&'r Path>,
    ) -> Self {
        let settings = &request.settings;
        let loader = Loader::new(settings.audio.clone(), settings.limits());
        let plain = || plain_loader(&settings.audio, settings.limits());
        Self {
            request,
            language,
            conversion: conversion.map(|folder| (folder, plain())),
            loader,
        }
    }

    /// Returns the outcome of a row. An error is one of the output, never of the row.
    pub(super) fn inspect(&mut self, Job { id, row }: Job) -> Result<Outcome, PrepareError> {
        let entry = match row {
            Ok(entry) => entry,
            Err(bad) => {
                return Ok(Outcome::Rejected(Box::new(Rejected {
                    place: bad.place,
                    audio: None,
                    text: None,
                    rejection: Rejection::new(BAD_LINE, bad.why),
                })));
            }
        };
        match self.accept(&id, &entry)? {
            Ok((text, audio, recording)) => Ok(Outcome::Accepted(Box::new(Accepted {
                converted: self.conversion.is_some(),
                id,
                entry,
                language: text.language,
                cleaned: text.cleaned,
                tokens: text.tokens,
                audio,
                recording,
            }))),
            Err(rejection) => Ok(Outcome::Rejected(Box::new(Rejected {
                place: entry.place,
                audio: Some(entry.audio),
                text: Some(entry.text),
                rejection,
            }))),
        }
    }

    fn accept(
        &mut self,
        id: &str,
        entry: &Entry,
    ) -> Result<Result<(Text, PathBuf, Recording), Rejection>, PrepareError> {
        // The recording first: of a line with two faults the missing file is
        // the one that explains the other.
        let mut recording = match self.listen(&entry.audio) {
            Ok(recording) => recording,
            Err(rejection) => return Ok(Err(rejection)),
        };
        let text = match self.read(entry) {
            Ok(text) => text,
            Err(rejection) => return Ok(Err(rejection)),
        };
        let mut audio = entry.audio.clone();
        if let Some((folder, plain)) = &mut self.conversion {
            audio = match convert(&entry.audio, id, folder, plain, &self.request.settings)? {
                Ok(target) => target,
                Err(rejection) => return Ok(Err(rejection)),
            };
            // Lengths and hashes are those of the file that will be read.
            let original = recording;
            recording = match self.listen(&audio) {
                Ok(recording) => recording,
                Err(rejection) => return Ok(Err(rejection)),
            };
            recording.source = original.source;
            recording.clipped = original.clipped;
        }
        Ok(Ok((text, audio, recording)))
    }

    fn listen(&mut self, path: &Path) -> Result<Recording, Rejection> {
        let mut waveform = Waveform::default();
        let (source, (content, silent, clipped)) = self
            .loader
            .load_seeing(path, &mut waveform, |bytes, decoded| {
                (
                    blake3::hash(bytes),
                    silence(decoded),
                    is_clipped(&decoded.samples),
                )
            })
            .map_err(|error| unreadable(&error, &self.request.settings))?;
        if let Some(rejection) = silent {
            return Err(rejection);
        }
        length(waveform.len(), &self.request.settings)?;
        Ok(Recording {
            samples: waveform.len(),
            source,
            content,
            sound: sound(&waveform),
            clipped,
        })
    }

    fn read(&self, entry: &Entry) -> Result<Text, Rejection> {
        let language = match &entry.language {
            Some(tag) => tag.parse().map_err(|_| {
                Rejection::new(BAD_LANGUAGE, format!("`{tag}` is not a language tag"))
            })?,
            None => self.language.clone(),
        };
        if entry.text.trim().is_empty() {
            return Err(Rejection::new(EMPTY_TEXT, "the line has no text"));
        }
        script(&entry.text, &language)?;
        let cleaned = clean(&entry.text, &language);
        if !cleaned.text.chars().any(char::is_alphanumeric) {
            let why = "the text has no letter and no digit";
            return Err(Rejection::new(EMPTY_TEXT, why));
        }
        let tokens = match self.request.vocabulary {
            Some(vocabulary) => count(1 + vocabulary.encode_raw(&cleaned.text).len()),
            None => count(1 + cleaned.text.chars().count()),
        };
        // Characters are not tokens, so without a vocabulary a length cannot be judged.
        if self.request.vocabulary.is_some() {
            text_length(tokens, self.request.settings.max_text)?;
        }
        Ok(Text {
            language,
            cleaned,
            tokens,
        })
    }
}

/// A text after reading and cleaning.
struct Text {
    language: Language,
    cleaned: Cleaned,
    tokens: Tokens,
}

fn count(tokens: usize) -> Tokens {
    Tokens(u32::try_from(tokens).unwrap_or(u32::MAX))
}

fn sound(waveform: &Waveform) -> [u8; 16] {
    let mut hasher = blake3::Hasher::new();
    let mut block = Vec::with_capacity(4096);
    for samples in waveform.samples.chunks(1024) {
        block.clear();
        block.extend(samples.iter().flat_map(|sample| sample.to_le_bytes()));
        hasher.update(&block);
    }
    let mut sound = [0; 16];
    sound.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    sound
}
