//! One row of the dataset: what it is, or why it is rejected. This runs on the
//! workers and holds one waveform at a time.

use std::path::{Path, PathBuf};

use myxtts_audio::units::{Samples, Span};
use myxtts_audio::{Loader, Source, Waveform};
use myxtts_text::{Cleaned, Language, clean};

use super::checks::{
    BAD_LANGUAGE, BAD_LINE, EMPTY_TEXT, Rejection, is_clipped, is_limit, length, script, silence,
    text_length, unreadable,
};
use super::convert::{convert, plain_loader};
use super::cut::{Limits, Piece, cut};
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
    /// A row whose clip was too long, in pieces.
    Split(Box<Split>),
    Rejected(Box<Rejected>),
}

/// A row and the pieces of its clip.
pub(super) struct Split {
    pub(super) entry: Entry,
    /// The length of the whole clip.
    pub(super) samples: Samples,
    pub(super) pieces: Vec<Accepted>,
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
    /// The part of it that is the clip, if not all of it.
    pub(super) span: Option<Span>,
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

impl Rejected {
    pub(super) fn of(entry: Entry, rejection: Rejection) -> Self {
        Self {
            place: entry.place,
            audio: Some(entry.audio),
            text: Some(entry.text),
            rejection,
        }
    }
}

/// Reads clips, one at a time.
pub(super) struct Inspector<'r> {
    request: &'r Request<'r>,
    language: &'r Language,
    /// The folder for converted recordings, and the loader that reads them.
    conversion: Option<(&'r Path, Loader)>,
    loader: Loader,
    /// Loads recordings that are to be split, as they are.
    plain: Loader,
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
            plain: plain(),
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
        let mut accepted = self.accept(&id, &entry)?;
        if let Err(rejection) = &mut accepted
            && is_limit(rejection.reason)
            && self.request.settings.split_long
        {
            match self.split(&id, &entry)? {
                Ok(split) => return Ok(Outcome::Split(Box::new(split))),
                Err(why) => *rejection = rejection.clone().unsplit(why),
            }
        }
        match accepted {
            Ok((text, audio, recording)) => Ok(Outcome::Accepted(Box::new(Accepted {
                converted: self.conversion.is_some(),
                id,
                entry,
                language: text.language,
                cleaned: text.cleaned,
                tokens: text.tokens,
                audio,
                span: None,
                recording,
            }))),
            Err(rejection) => {
                let rejected = Rejected::of(entry, rejection);
                Ok(Outcome::Rejected(Box::new(rejected)))
            }
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
        if self.conversion.is_some() {
            audio = match self.converted(id, &entry.audio)? {
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

    /// Returns the recording to train on: the converted one where that is wanted.
    fn converted(
        &mut self,
        id: &str,
        recording: &Path,
    ) -> Result<Result<PathBuf, Rejection>, PrepareError> {
        match &mut self.conversion {
            Some((folder, plain)) => convert(recording, id, folder, plain, &self.request.settings),
            None => Ok(Ok(recording.to_owned())),
        }
    }

    /// Returns the pieces of a clip that is too long, or why it has none, in words.
    fn split(&mut self, id: &str, entry: &Entry) -> Result<Result<Split, String>, PrepareError> {
        let (language, mut whole, pieces) = match self.cut(entry) {
            Ok(cut) => cut,
            Err(why) => return Ok(Err(why)),
        };
        // Only what is kept is converted. A copy has as many samples, so it is cut alike.
        let mut audio = entry.audio.clone();
        if self.conversion.is_some() {
            audio = match self.converted(id, &entry.audio)? {
                Ok(audio) => audio,
                Err(rejection) => return Ok(Err(rejection.why)),
            };
            let original = whole;
            whole = match self.hear(&audio) {
                Ok(whole) => whole,
                Err(why) => return Ok(Err(why)),
            };
            whole.source = original.source;
            whole.clipped = original.clipped;
        }
        let accepted = (1..).zip(pieces).map(|(number, Piece { span, text })| {
            let recording = self.part(&audio, &whole, span)?;
            let read = self.text(&text, &language)?;
            Ok(Accepted {
                id: format!("{id}#part{number}"),
                entry: Entry {
                    text,
                    ..entry.clone()
                },
                language: read.language,
                cleaned: read.cleaned,
                tokens: read.tokens,
                audio: audio.clone(),
                span: Some(span),
                converted: self.conversion.is_some(),
                recording,
            })
        });
        let pieces: Result<Vec<Accepted>, Rejection> = accepted.collect();
        Ok(match pieces {
            Ok(pieces) => Ok(Split {
                entry: entry.clone(),
                samples: whole.waveform.len(),
                pieces,
            }),
            Err(rejection) => Err(format!("of a piece, {}", rejection.why)),
        })
    }

    /// Finds where a clip is to be cut, or says why it cannot be.
    fn cut(&mut self, entry: &Entry) -> Result<(Language, Whole, Vec<Piece>), String> {
        let language = self.language_of(entry).map_err(|rejection| rejection.why)?;
        match self.text(&entry.text, &language) {
            Err(rejection) if !is_limit(rejection.reason) => return Err(rejection.why),
            _ => {}
        }
        let whole = self.hear(&entry.audio)?;
        let fits = |text: &str| self.text(text, &language).is_ok();
        let limits = Limits {
            longest: self.request.settings.longest(),
            fits: &fits,
        };
        match cut(&whole.waveform, &entry.text, &language, &limits) {
            Ok(pieces) => Ok((language, whole, pieces)),
            Err(unsplit) => Err(unsplit.to_string()),
        }
    }

    /// Loads a recording that is to be split, neither trimmed nor levelled.
    fn hear(&mut self, path: &Path) -> Result<Whole, String> {
        let mut waveform = Waveform::default();
        let loaded = self
            .plain
            .load_seeing(path, &mut waveform, |bytes, decoded| {
                (blake3::hash(bytes), is_clipped(&decoded.samples))
            });
        let settings = &self.request.settings;
        let (source, (content, clipped)) =
            loaded.map_err(|error| match unreadable(&error, settings) {
                rejection if is_limit(rejection.reason) => {
                    format!("recordings over {} are not", settings.limits().longest)
                }
                rejection => rejection.why,
            })?;
        Ok(Whole {
            waveform,
            source,
            content,
            clipped,
        })
    }

    /// Measures a part of a recording, as a training will hear it.
    fn part(&self, path: &Path, whole: &Whole, span: Span) -> Result<Recording, Rejection> {
        let settings = &self.request.settings;
        let samples = whole.waveform.samples.get(span.first.0..span.end().0);
        let mut waveform = Waveform {
            samples: samples.unwrap_or_default().to_vec(),
            rate: whole.waveform.rate,
        };
        self.loader
            .level(path, &mut waveform)
            .map_err(|error| unreadable(&error, settings))?;
        length(waveform.len(), settings)?;
        Ok(Recording {
            samples: waveform.len(),
            source: whole.source,
            content: whole.content,
            sound: sound(&waveform),
            clipped: whole.clipped,
        })
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

    fn language_of(&self, entry: &Entry) -> Result<Language, Rejection> {
        match &entry.language {
            Some(tag) => tag.parse().map_err(|_| {
                Rejection::new(BAD_LANGUAGE, format!("`{tag}` is not a language tag"))
            }),
            None => Ok(self.language.clone()),
        }
    }

    fn read(&self, entry: &Entry) -> Result<Text, Rejection> {
        let language = self.language_of(entry)?;
        if entry.text.trim().is_empty() {
            return Err(Rejection::new(EMPTY_TEXT, "the line has no text"));
        }
        self.text(&entry.text, &language)
    }

    /// Cleans a text and counts its tokens, if it may be trained on.
    fn text(&self, text: &str, language: &Language) -> Result<Text, Rejection> {
        script(text, language)?;
        let cleaned = clean(text, language);
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
            language: language.clone(),
            cleaned,
            tokens,
        })
    }
}

/// A recording that is to be split.
struct Whole {
    waveform: Waveform,
    source: Source,
    content: blake3::Hash,
    clipped: bool,
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
