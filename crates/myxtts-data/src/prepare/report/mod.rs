//! What a preparation found, for programs; `text` shows it to people.

mod text;

use std::collections::BTreeMap;

use myxtts_audio::units::{Samples, Seconds};
use myxtts_base::report;
use myxtts_text::Language;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::checks::{Note, TEXT_TOO_LONG, is_limit};
use super::manifest::Clip;
use super::outliers::Usual;
use super::totals::Totals;
use super::{Request, Settings, paths};
use crate::layout::{Columns, Decided, Layout, Split, Table};
use crate::schedule::{BucketShape, bucket_of, choose_buckets, padding_percent};
use crate::units::{Codes, Tokens};

/// The examples shown of each finding; the files name every one.
const EXAMPLES: usize = 5;
/// The speakers listed; a crowd-sourced dataset has as many as clips.
const SPEAKERS: usize = 100;
/// The numbers of buckets whose padding is shown.
const BUCKETS: [u32; 4] = [1, 4, 8, 16];
/// The most bars that the histogram has.
const BARS: usize = 20;

/// The result of a preparation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The path of the dataset.
    pub dataset: String,
    /// The folder with the results.
    pub out: String,
    /// The language of lines that name none.
    pub language: String,
    /// The tables and what their columns hold; empty where there are no tables.
    pub tables: Vec<TableReport>,
    /// The first rows that were kept, as read and as cleaned.
    pub rows: Vec<SampleRow>,
    /// The number of rows of the dataset.
    pub total: u64,
    /// The number of rows that are kept, each a line of the manifest or, where it was
    /// split, several.
    pub kept: u64,
    /// The number of lines of the quarantine.
    pub quarantined: u64,
    /// The number of quarantined clips that are bad, and not merely longer than a limit.
    pub bad: u64,
    /// The number of quarantined clips by reason.
    pub reasons: BTreeMap<String, u64>,
    /// Clips left out for a limit, and what would keep them.
    pub limits: Vec<LimitReport>,
    /// What became of clips over a limit, where they are split.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split: Option<SplitReport>,
    /// The number of kept clips by what is odd about them.
    pub notes: BTreeMap<String, u64>,
    /// The hours of audio kept.
    pub hours: f64,
    /// The number of clips to train on.
    pub train: u64,
    /// The number of clips held out for validation.
    pub validation: u64,
    /// The share of positions that is padding, in percent, by number of buckets.
    pub padding: BTreeMap<u32, f64>,
    /// The buckets for the number asked for.
    pub buckets: Vec<Bucket>,
    /// What text lengths are counted in.
    pub text_unit: TextUnit,
    /// Examples of every reason and note.
    pub findings: Vec<Finding>,
    /// The number of kept clips by length.
    pub histogram: Vec<Bar>,
    /// The speakers, the most heard first, at most a hundred.
    pub speakers: Vec<SpeakerShare>,
    /// The number of speakers in all.
    pub speaker_count: u64,
    /// The number of kept clips by the rate of their recording.
    pub rates: Vec<RateShare>,
    /// The characters per second of the clip in the middle; `None` with too few clips.
    pub characters_per_second: Option<f32>,
    /// The characters outside the vocabulary; `None` without a vocabulary.
    pub coverage: Option<CoverageReport>,
    /// Every character with its count, the rarest first; empty with a vocabulary.
    pub characters: Vec<CharacterCount>,
    /// The pieces of text that no cleaning rule covers.
    pub unsupported_text: Vec<UnsupportedText>,
    /// What the results depend on.
    pub settings: Settings,
    /// The hash of the vocabulary, if there was one.
    pub vocabulary: Option<String>,
    /// The hash of the metadata.
    pub fingerprint: String,
    /// The command that trains on it, as arguments.
    pub next: Vec<String>,
}

/// A table and how it was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableReport {
    /// The path of the table, as seen from the dataset.
    pub file: String,
    /// What its columns hold.
    pub columns: Columns,
    /// How that was decided.
    pub decided: Decided,
}

/// A kept row, shown as an example.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampleRow {
    /// The line that names the clip, as `file:line`.
    pub source: String,
    /// The recording, as seen from the dataset.
    pub audio: String,
    /// The speaker, where the dataset names one.
    pub speaker: Option<String>,
    /// The tag of the language.
    pub language: String,
    /// The text as read.
    pub text: String,
    /// The text as the model sees it.
    pub cleaned: String,
}

/// A limit that clips are over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitReport {
    /// The reason, as the quarantine has it.
    pub reason: String,
    /// The flag that sets the limit.
    pub flag: String,
    /// The value of the limit.
    pub limit: u64,
    /// The number of clips over it.
    pub clips: u64,
    /// The value that would keep `kept` of them.
    pub raise_to: u64,
    /// The number of clips it would keep; more would need more than the flag takes.
    pub kept: u64,
}

/// Clips over a limit that were split at their pauses, or were not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SplitReport {
    /// The clips that were split, which are among the kept rows.
    #[serde(flatten)]
    pub clips: Occurrences,
    /// The number of lines of the manifest that they became.
    pub pieces: u64,
    /// The number of clips that could not be split, which are quarantined.
    pub not_split: u64,
}

/// How often a character occurs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CharacterCount {
    /// The character that was counted.
    pub character: char,
    /// How often it occurs.
    pub count: u64,
    /// The first line that has it, as `file:line`.
    pub first: String,
}

/// What reading a dataset gave besides its clips.
pub(super) struct Read<'a> {
    /// The rows read, kept and quarantined.
    pub(super) counts: (u64, u64, u64),
    pub(super) layout: &'a Layout,
    pub(super) language: &'a Language,
    pub(super) fingerprint: String,
}

/// What a text length counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TextUnit {
    /// Tokens of the vocabulary.
    Tokens,
    /// Characters, where there is no vocabulary.
    Characters,
}

/// A bucket and how many clips it gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bucket {
    /// The longest text that fits.
    pub text: Tokens,
    /// The longest audio that fits.
    pub audio: Codes,
    /// The number of clips it gets.
    pub clips: u64,
}

/// A reason or a note, with its first places.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The word for it.
    pub finding: String,
    /// Whether its clips are kept.
    pub kept: bool,
    /// How many there are, and the first of them.
    #[serde(flatten)]
    pub occurrences: Occurrences,
}

/// A count, and where the first ones are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Occurrences {
    /// How many there are.
    pub count: u64,
    /// The first of them.
    pub first: Vec<Example>,
}

impl Occurrences {
    pub(super) fn add(&mut self, example: impl FnOnce() -> Example) {
        self.count += 1;
        if self.first.len() < EXAMPLES {
            self.first.push(example());
        }
    }
}

/// A place where something was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Example {
    /// The line that names the clip, as `file:line`.
    pub source: String,
    /// What was found there.
    pub what: String,
}

/// A bar of the histogram of lengths.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bar {
    /// The shortest length that counts, in seconds.
    pub from: f64,
    /// The length, in seconds, that clips stay below.
    pub to: f64,
    /// The number of clips.
    pub clips: u64,
}

/// What one speaker has in the dataset.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SpeakerShare {
    /// The name; `None` where the dataset names nobody.
    pub speaker: Option<String>,
    /// The number of clips.
    pub clips: u64,
    /// The hours of audio.
    pub hours: f64,
}

/// Recordings at one rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RateShare {
    /// The sample rate in Hz.
    pub rate: u32,
    /// The number of clips.
    pub clips: u64,
}

/// Characters outside the vocabulary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoverageReport {
    /// The number of characters looked at.
    pub characters: u64,
    /// The characters outside, the most frequent first.
    pub uncovered: Vec<UncoveredCharacter>,
    /// Languages of the dataset that the vocabulary has no tag for.
    pub missing_tags: Vec<String>,
}

/// A character outside the vocabulary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UncoveredCharacter {
    /// The character that is not covered.
    pub character: char,
    /// How often it occurs.
    pub count: u64,
    /// The number of lines that have it.
    pub lines: u64,
    /// The first of those lines, as `file:line`.
    pub first: Vec<String>,
}

/// Pieces that one missing rule leaves as written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnsupportedText {
    /// The tag of the language.
    pub language: String,
    /// The rule that is missing.
    pub what: String,
    /// How many pieces there are, and the first of them.
    #[serde(flatten)]
    pub occurrences: Occurrences,
}

/// More bad clips than `data.max_bad_fraction`.
#[derive(Clone, Debug, PartialEq, Error)]
#[error(
    "{}",
    report!(
        "{bad} of {total} clips are bad ({percent:.2} %), but data.max_bad_fraction allows only \
         {allowed:.2} %";
        at: "{report}";
        fix: "correct or remove the clips named in quarantine.jsonl, or accept them: --set \
              data.max_bad_fraction={enough}"
    )
)]
pub struct TooManyBad {
    bad: u64,
    total: u64,
    percent: f64,
    allowed: f64,
    report: String,
    enough: f64,
}

impl Report {
    /// Fails if there are more bad clips than the settings allow.
    pub fn check(&self) -> Result<(), TooManyBad> {
        let share = self.bad as f64 / self.total.max(1) as f64;
        let allowed = self.settings.max_bad_fraction;
        if share <= allowed {
            return Ok(());
        }
        Err(TooManyBad {
            bad: self.bad,
            total: self.total,
            percent: 100.0 * share,
            allowed: 100.0 * allowed,
            report: format!("{}/{}", self.out, super::REPORT_TEXT),
            enough: (share * 1000.0).ceil() / 1000.0,
        })
    }
}

/// Collects what only the finished clips show.
pub(super) struct Summary {
    notes: BTreeMap<Note, Occurrences>,
    histogram: Vec<Bar>,
    languages: std::collections::BTreeSet<String>,
    train: u64,
    validation: u64,
}

impl Summary {
    pub(super) fn new(settings: &Settings) -> Self {
        let Seconds(longest) = settings.longest().at(settings.audio.sample_rate);
        let width = (longest / BARS as f64).ceil().max(1.0);
        let bars = (0_u32..)
            .map(|bar| f64::from(bar) * width)
            .take_while(|from| *from < longest);
        let bar = |from| Bar {
            from,
            to: from + width,
            clips: 0,
        };
        Self {
            notes: BTreeMap::new(),
            histogram: bars.map(bar).collect(),
            languages: Default::default(),
            train: 0,
            validation: 0,
        }
    }

    /// Counts a clip as the manifest has it.
    pub(super) fn add(&mut self, clip: &Clip, speech: f32) {
        for note in &clip.notes {
            self.notes.entry(*note).or_default().add(|| Example {
                source: clip.source.clone(),
                what: match note {
                    Note::TextOutlier => {
                        format!("{}: {:.1} characters a second", clip.audio, speech.exp())
                    }
                    _ => clip.audio.clone(),
                },
            });
        }
        let bar = self
            .histogram
            .iter_mut()
            .rfind(|bar| bar.from <= clip.seconds);
        if let Some(bar) = bar {
            bar.clips += 1;
        }
        if !self.languages.contains(&clip.language) {
            self.languages.insert(clip.language.clone());
        }
        match clip.split {
            Split::Train => self.train += 1,
            Split::Validation => self.validation += 1,
        }
    }

    /// Makes the report of a preparation.
    pub(super) fn report(
        self,
        request: &Request<'_>,
        totals: &Totals<'_>,
        usual: Option<Usual>,
        read: Read<'_>,
    ) -> Report {
        let settings = &request.settings;
        let (total, kept, quarantined) = read.counts;
        let language = read.language.to_string();
        let hours = |samples: Samples| samples.at(settings.audio.sample_rate).0 / 3600.0;
        let by_limit = totals
            .rejected
            .iter()
            .filter(|(reason, _)| is_limit(reason));
        let left_out: u64 = by_limit.map(|(_, found)| found.count).sum();
        let findings = self.findings(totals);
        let coverage = self.coverage(request, totals);
        Report {
            dataset: request.dataset.display().to_string(),
            out: request.out.display().to_string(),
            tables: tables(read.layout),
            rows: totals.rows.clone(),
            limits: limits(totals, settings),
            split: settings.split_long.then(|| totals.splits.clone()),
            characters: characters(totals),
            next: next_command(request, &language),
            total,
            kept,
            quarantined,
            bad: quarantined - left_out,
            reasons: counts(&totals.rejected),
            notes: counts(&self.notes),
            hours: hours(totals.samples),
            train: self.train,
            validation: self.validation,
            padding: padding(totals),
            buckets: buckets(totals, settings.buckets),
            text_unit: match request.vocabulary {
                Some(_) => TextUnit::Tokens,
                None => TextUnit::Characters,
            },
            findings,
            histogram: self.histogram,
            speakers: speakers(totals, hours),
            speaker_count: totals.speakers.len() as u64,
            rates: rates(totals),
            characters_per_second: usual.map(|usual| usual.characters_per_second()),
            coverage,
            unsupported_text: unsupported_text(totals),
            settings: Settings {
                language: Some(language.clone()),
                ..settings.clone()
            },
            language,
            vocabulary: request.vocabulary.map(super::freshness::vocabulary_hash),
            fingerprint: read.fingerprint,
        }
    }

    /// Lists what was found, first what kept clips out.
    fn findings(&self, totals: &Totals<'_>) -> Vec<Finding> {
        let finding = |finding: String, kept, occurrences: &Occurrences| Finding {
            finding,
            kept,
            occurrences: occurrences.clone(),
        };
        let rejected = totals.rejected.iter();
        let rejected = rejected.map(|(reason, found)| finding((*reason).to_owned(), false, found));
        let notes = self.notes.iter();
        let notes = notes.map(|(note, found)| finding(note.to_string(), true, found));
        rejected.chain(notes).collect()
    }

    /// Reports how much of the texts the vocabulary covers, if one was given.
    fn coverage(&self, request: &Request<'_>, totals: &Totals<'_>) -> Option<CoverageReport> {
        let (coverage, vocabulary) = totals.coverage.as_ref().zip(request.vocabulary)?;
        let known = vocabulary.languages();
        let tag = |language: &&String| {
            let tag = language.parse::<Language>();
            tag.is_ok_and(|tag| !known.contains(&tag.tag()))
        };
        Some(CoverageReport {
            characters: coverage.characters(),
            uncovered: uncovered(coverage.uncovered()),
            missing_tags: self.languages.iter().filter(tag).cloned().collect(),
        })
    }
}

/// Returns the command to train with, which names the language.
fn next_command(request: &Request<'_>, language: &str) -> Vec<String> {
    let mut next = vec!["myxtts".to_owned()];
    next.extend(request.next.iter().cloned());
    if !next.iter().any(|word| word == "--language") {
        next.extend(["--language".to_owned(), language.to_owned()]);
    }
    next
}

fn tables(layout: &Layout) -> Vec<TableReport> {
    let tables = match layout {
        Layout::Tables { tables, .. } => tables.as_slice(),
        _ => &[],
    };
    let table = |table: &Table| TableReport {
        file: paths::from_root(&table.file, layout.root()),
        columns: table.columns.clone(),
        decided: table.decided,
    };
    tables.iter().map(table).collect()
}

/// Returns the padding that each number of buckets causes.
fn padding(totals: &Totals<'_>) -> BTreeMap<u32, f64> {
    let percent = |count| {
        let shapes = choose_buckets(&totals.lengths, count as usize);
        (count, padding_percent(&totals.lengths, &shapes))
    };
    BUCKETS.into_iter().map(percent).collect()
}

fn rates(totals: &Totals<'_>) -> Vec<RateShare> {
    let share = |(rate, clips): (&_, &_)| RateShare {
        rate: *rate,
        clips: *clips,
    };
    totals.rates.iter().map(share).collect()
}

fn unsupported_text(totals: &Totals<'_>) -> Vec<UnsupportedText> {
    let unsupported = totals.unsupported.iter();
    unsupported
        .map(|((language, what), occurrences)| UnsupportedText {
            language: language.clone(),
            what: what.to_string(),
            occurrences: occurrences.clone(),
        })
        .collect()
}

/// The most that the flags take, which is bounded by the models' position tables.
const MOST_FRAMES: u64 = 10_000;
const MOST_TOKENS: u64 = 402;

fn limits(totals: &Totals<'_>, settings: &Settings) -> Vec<LimitReport> {
    let report = |(reason, needed): (&&str, &Vec<u64>)| {
        let (flag, limit, most) = match *reason {
            TEXT_TOO_LONG => (
                "--max-text-length",
                u64::from(settings.max_text.0),
                MOST_TOKENS,
            ),
            _ => (
                "--max-mel-frames",
                settings.max_frames.0 as u64,
                MOST_FRAMES,
            ),
        };
        let within = needed.iter().copied().filter(|needed| *needed <= most);
        LimitReport {
            reason: (*reason).to_owned(),
            flag: flag.to_owned(),
            limit,
            clips: needed.len() as u64,
            raise_to: within.clone().max().unwrap_or(most),
            kept: within.count() as u64,
        }
    };
    totals.keeps.iter().map(report).collect()
}

fn characters(totals: &Totals<'_>) -> Vec<CharacterCount> {
    let mut characters: Vec<CharacterCount> = totals.characters.values().cloned().collect();
    characters.sort_by_key(|found| (found.count, found.character));
    characters
}

fn counts<K: ToString>(found: &BTreeMap<K, Occurrences>) -> BTreeMap<String, u64> {
    found
        .iter()
        .map(|(word, found)| (word.to_string(), found.count))
        .collect()
}

fn buckets(totals: &Totals<'_>, count: u32) -> Vec<Bucket> {
    let shapes = choose_buckets(&totals.lengths, count as usize);
    let mut clips = vec![0_u64; shapes.len()];
    for length in &totals.lengths {
        if let Some(count) = bucket_of(&shapes, *length).and_then(|at| clips.get_mut(at)) {
            *count += 1;
        }
    }
    let bucket = |(BucketShape { text, audio }, clips)| Bucket { text, audio, clips };
    shapes.into_iter().zip(clips).map(bucket).collect()
}

fn speakers(totals: &Totals<'_>, hours: impl Fn(Samples) -> f64) -> Vec<SpeakerShare> {
    let mut speakers: Vec<_> = totals.speakers.iter().collect();
    speakers.sort_by_key(|(name, speaker)| (std::cmp::Reverse(speaker.samples), *name));
    let share = |(name, speaker): (&Option<String>, &super::totals::Speaker)| SpeakerShare {
        speaker: name.clone(),
        clips: speaker.clips,
        hours: hours(speaker.samples),
    };
    speakers.into_iter().take(SPEAKERS).map(share).collect()
}

fn uncovered(found: Vec<myxtts_text::Uncovered<String>>) -> Vec<UncoveredCharacter> {
    let record = |found: myxtts_text::Uncovered<String>| UncoveredCharacter {
        character: found.character,
        count: found.count,
        lines: found.line_count,
        first: found.first_lines,
    };
    found.into_iter().map(record).collect()
}
