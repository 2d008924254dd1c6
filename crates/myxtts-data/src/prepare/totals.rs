//! What is known of the dataset as a whole, clip by clip, in its own order.
//!
//! Per clip it keeps some eighty bytes: two hashes, a length, a rate of speech
//! and a draw for the split. Everything else is bounded by the number of
//! speakers, reasons and distinct characters.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use myxtts_audio::units::Samples;
use myxtts_text::{Coverage, Gap, Unsupported};

use super::checks::{DUPLICATE_CONFLICT, Note, Rejection, is_low_rate};
use super::inspect::{Accepted, Rejected, Split as SplitRow};
use super::manifest::Clip;
use super::quarantine::Quarantined;
use super::report::{CharacterCount, Example, Occurrences, SampleRow, SplitReport};
use super::{Request, outliers, paths};
use crate::layout::{LinePlace, Split};
use crate::schedule::ClipLength;
use crate::split::Drawn;
use crate::units::Codes;

pub(super) struct Totals<'r> {
    request: &'r Request<'r>,
    root: &'r Path,
    out: &'r Path,
    sounds: HashMap<[u8; 16], First>,
    /// Files that name clips; clips in a row share an entry.
    files: Vec<PathBuf>,
    pub(super) rejected: BTreeMap<&'static str, Occurrences>,
    pub(super) speakers: BTreeMap<Option<String>, Speaker>,
    pub(super) rates: BTreeMap<u32, u64>,
    pub(super) lengths: Vec<ClipLength>,
    pub(super) drawn: Vec<Drawn>,
    pub(super) speech: Vec<f32>,
    pub(super) coverage: Option<Coverage<'r, String>>,
    pub(super) unsupported: BTreeMap<(String, Gap), Occurrences>,
    pub(super) samples: Samples,
    /// Whether the dataset sets clips apart for validation.
    pub(super) has_validation: bool,
    /// The first rows, as read and as cleaned.
    pub(super) rows: Vec<SampleRow>,
    /// By reason, the limits that would keep the clips that are over one.
    pub(super) keeps: BTreeMap<&'static str, Vec<u64>>,
    /// What became of clips that were too long, where they are split.
    pub(super) splits: SplitReport,
    /// Every character, where there is no vocabulary to compare with.
    pub(super) characters: BTreeMap<char, CharacterCount>,
}

/// The number of rows shown of a dataset.
const ROWS: usize = 3;

/// What one speaker has in the dataset.
pub(super) struct Speaker {
    number: u32,
    pub(super) clips: u64,
    pub(super) samples: Samples,
}

/// The first clip with a sound: what it says and where it is named.
struct First {
    text: u64,
    file: u32,
    line: u32,
}

impl<'r> Totals<'r> {
    pub(super) fn new(request: &'r Request<'r>, root: &'r Path, out: &'r Path) -> Self {
        Self {
            request,
            root,
            out,
            sounds: HashMap::new(),
            files: Vec::new(),
            rejected: BTreeMap::new(),
            speakers: BTreeMap::new(),
            rates: BTreeMap::new(),
            lengths: Vec::new(),
            drawn: Vec::new(),
            speech: Vec::new(),
            coverage: request.vocabulary.map(Coverage::new),
            unsupported: BTreeMap::new(),
            samples: Samples(0),
            has_validation: false,
            rows: Vec::new(),
            keeps: BTreeMap::new(),
            splits: SplitReport::default(),
            characters: BTreeMap::new(),
        }
    }

    /// Counts a rejected clip; returns its line of the quarantine.
    pub(super) fn reject(&mut self, rejected: Rejected) -> Quarantined {
        let Rejection {
            reason,
            why,
            keeps,
            unsplit,
        } = rejected.rejection;
        self.splits.not_split += u64::from(unsplit);
        if let Some(limit) = keeps {
            self.keeps.entry(reason).or_default().push(limit);
        }
        let source = paths::source(&rejected.place, self.root);
        self.rejected.entry(reason).or_default().add(|| Example {
            source: source.clone(),
            what: why.clone(),
        });
        Quarantined {
            reason: reason.to_owned(),
            why,
            source,
            audio: rejected
                .audio
                .map(|audio| paths::from_manifest(&audio, self.out, self.root)),
            text: rejected.text,
        }
    }

    /// Counts an accepted clip; returns its line of the manifest, or why it
    /// does not go together with the clips before it.
    pub(super) fn accept(&mut self, accepted: Accepted) -> Result<Clip, Box<Rejected>> {
        match self.compare(&accepted) {
            Ok(()) => Ok(self.add(accepted)),
            Err(rejection) => Err(Box::new(Rejected::of(accepted.entry, rejection))),
        }
    }

    /// Counts a clip in pieces; returns their lines of the manifest. A row is kept or
    /// not as a whole: half of a recording whose other half contradicts an earlier clip is
    /// not to be trusted.
    pub(super) fn accept_split(&mut self, split: SplitRow) -> Result<Vec<Clip>, Box<Rejected>> {
        let SplitRow {
            entry,
            samples,
            pieces,
        } = split;
        let compared = pieces.iter().try_for_each(|piece| self.compare(piece));
        if let Err(rejection) = compared {
            return Err(Box::new(Rejected::of(entry, rejection)));
        }
        let clips: Vec<Clip> = pieces.into_iter().map(|piece| self.add(piece)).collect();
        let rate = self.request.settings.audio.sample_rate;
        self.splits.pieces += clips.len() as u64;
        self.splits.clips.add(|| Example {
            source: paths::source(&entry.place, self.root),
            what: {
                let each = clips.iter().map(|clip| format!("{:.1}", clip.seconds));
                let each: Vec<String> = each.collect();
                format!("{} into {} s", samples.at(rate), each.join(", "))
            },
        });
        Ok(clips)
    }

    /// Counts a clip that goes together with those before it.
    fn add(&mut self, accepted: Accepted) -> Clip {
        let is_duplicate = self.remember(&accepted);
        let source = paths::source(&accepted.entry.place, self.root);
        self.show(&accepted, &source);
        self.count_characters(&source, &accepted.cleaned.text);
        let notes = self.notes(&accepted, &source, is_duplicate);
        let seconds = self.measure(&accepted);
        self.has_validation |= accepted.entry.split == Some(Split::Validation);
        let Accepted {
            id,
            entry,
            language,
            cleaned: _,
            tokens,
            audio,
            span,
            converted,
            recording,
        } = accepted;
        let original = paths::from_manifest(&entry.audio, self.out, self.root);
        Clip {
            id,
            audio: paths::from_manifest(&audio, self.out, self.root),
            span,
            text: entry.text,
            speaker: entry.speaker,
            language: language.to_string(),
            seconds: (seconds * 1000.0).round() / 1000.0,
            samples: recording.samples,
            tokens,
            rate: recording.source.rate,
            channels: recording.source.channels,
            content: recording.content.to_hex().to_string(),
            split: entry.split.unwrap_or(Split::Train),
            source,
            converted_from: converted.then_some(original),
            notes,
        }
    }

    /// Keeps a clip to be shown, if it is one of the first.
    fn show(&mut self, accepted: &Accepted, source: &str) {
        let entry = &accepted.entry;
        if self.rows.len() < ROWS {
            self.rows.push(SampleRow {
                source: source.to_owned(),
                audio: paths::from_root(&entry.audio, self.root),
                speaker: entry.speaker.clone(),
                language: accepted.language.to_string(),
                text: entry.text.clone(),
                cleaned: accepted.cleaned.text.clone(),
            });
        }
    }

    /// Returns what is to be noted of a clip, and counts what its text lacks.
    fn notes(&mut self, accepted: &Accepted, source: &String, is_duplicate: bool) -> Vec<Note> {
        let Accepted {
            cleaned, recording, ..
        } = accepted;
        let is_low_rate = is_low_rate(recording.source.rate, &self.request.settings);
        let is_uncovered = self.is_uncovered(source, &cleaned.text);
        let is_unsupported = !cleaned.unsupported.is_empty();
        if is_unsupported {
            self.note_unsupported(source, &cleaned.unsupported);
        }
        let notes = [
            (recording.clipped, Note::Clipped),
            (is_duplicate, Note::Duplicate),
            (is_low_rate, Note::LowRate),
            (is_uncovered, Note::UncoveredCharacter),
            (is_unsupported, Note::UnsupportedText),
        ];
        let notes = notes.into_iter().filter(|(applies, _)| *applies);
        notes.map(|(_, note)| note).collect()
    }

    /// Counts the length and the rates of a clip; returns its duration in seconds.
    fn measure(&mut self, accepted: &Accepted) -> f64 {
        let recording = &accepted.recording;
        let seconds = recording
            .samples
            .at(self.request.settings.audio.sample_rate)
            .0;
        self.count(&accepted.id, &accepted.entry.speaker, &recording.samples);
        *self.rates.entry(recording.source.rate.hz()).or_default() += 1;
        self.lengths.push(ClipLength {
            text: accepted.tokens,
            audio: Codes::of(recording.samples),
        });
        let characters = accepted.cleaned.text.chars().count();
        self.speech.push(outliers::rate(characters, seconds));
        seconds
    }

    /// Fails if an earlier clip sounds the same and says something else.
    ///
    /// With the same text it is kept: repeating a clip is a crude but common
    /// way to balance a dataset, and harmless. With another text one of the two
    /// is wrong, and training on both teaches that the text does not matter.
    /// Which one is wrong nobody can tell from here; the first stays, so that
    /// the result does not depend on chance, and the report names both.
    fn compare(&self, accepted: &Accepted) -> Result<(), Rejection> {
        let text = hash(accepted.entry.text.trim());
        let first = self.sounds.get(&accepted.recording.sound);
        let Some(first) = first.filter(|first| first.text != text) else {
            return Ok(());
        };
        let file = self.files.get(first.file as usize).cloned();
        let place = LinePlace {
            file: file.unwrap_or_default(),
            line: u64::from(first.line),
        };
        let place = paths::source(&place, self.root);
        let why = format!("the same recording as {place}, with a different text");
        Err(Rejection::new(DUPLICATE_CONFLICT, why))
    }

    /// Remembers the sound of a clip; returns whether an earlier one has it.
    fn remember(&mut self, accepted: &Accepted) -> bool {
        if self.sounds.contains_key(&accepted.recording.sound) {
            return true;
        }
        let place = &accepted.entry.place;
        if self.files.last() != Some(&place.file) {
            self.files.push(place.file.clone());
        }
        let first = First {
            text: hash(accepted.entry.text.trim()),
            file: u32::try_from(self.files.len() - 1).unwrap_or(u32::MAX),
            line: u32::try_from(place.line).unwrap_or(u32::MAX),
        };
        self.sounds.insert(accepted.recording.sound, first);
        false
    }

    fn count(&mut self, id: &str, speaker: &Option<String>, samples: &Samples) {
        let number = u32::try_from(self.speakers.len()).unwrap_or(u32::MAX);
        let speaker = self.speakers.entry(speaker.clone()).or_insert(Speaker {
            number,
            clips: 0,
            samples: Samples(0),
        });
        speaker.clips += 1;
        speaker.samples.0 += samples.0;
        self.samples.0 += samples.0;
        let seed = self.request.settings.seed;
        self.drawn.push(Drawn::new(id, speaker.number, seed));
    }

    fn count_characters(&mut self, source: &str, text: &str) {
        if self.request.vocabulary.is_some() {
            return;
        }
        for character in text.chars().filter(|c| !c.is_whitespace()) {
            let seen = self.characters.entry(character);
            let seen = seen.or_insert_with(|| CharacterCount {
                character,
                count: 0,
                first: source.to_owned(),
            });
            seen.count += 1;
        }
    }

    /// Returns whether a text has characters outside the vocabulary.
    fn is_uncovered(&mut self, source: &String, text: &str) -> bool {
        let (Some(coverage), Some(vocabulary)) = (&mut self.coverage, self.request.vocabulary)
        else {
            return false;
        };
        coverage.add(source, text);
        let outside = |c: char| !c.is_whitespace() && !vocabulary.covers(c);
        text.chars().any(outside)
    }

    fn note_unsupported(&mut self, source: &str, unsupported: &[Unsupported]) {
        for piece in unsupported {
            let key = (piece.language.to_string(), piece.what);
            self.unsupported.entry(key).or_default().add(|| Example {
                source: source.to_owned(),
                what: piece.text.clone(),
            });
        }
    }
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}
