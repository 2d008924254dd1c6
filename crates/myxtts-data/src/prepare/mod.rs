//! Every clip of a dataset read once: indexed, or quarantined with its reason.
//!
//! ```text
//! layout::rows -> feeder -> workers (inspect) -> totals, in the dataset's order
//!                                                  |-> quarantine.jsonl
//!                                                  `-> spool -> manifest.jsonl
//! ```
//!
//! There are two passes over the *records* and one over the recordings: what is
//! unusual and what is held out is known only when all clips are, so accepted
//! clips are spooled to disk and written again with that added.
//!
//! Invariants:
//! - `kept + quarantined = total`, counted where lines are written and checked
//!   at the end of every run;
//! - the files are the same whatever the number of workers;
//! - memory holds a few numbers per clip (lengths, hashes) and never its text,
//!   its path or its audio;
//! - every file appears whole or not at all, and `report.json` exists only while
//!   the other files belong to it: it is removed before they are replaced and comes
//!   back last, all under a lock ([`lock`]).

mod checks;
mod convert;
mod cut;
mod error;
mod freshness;
mod inspect;
mod jsonl;
mod language;
mod lock;
mod manifest;
mod outliers;
mod paths;
mod place;
mod quarantine;
mod report;
mod run;
mod totals;

use std::num::NonZeroUsize;
use std::path::PathBuf;

use myxtts_audio::AudioConfig;
use myxtts_audio::units::{Frames, Samples, Seconds};
use myxtts_text::Vocabulary;
use serde::{Deserialize, Serialize};

use crate::layout::Columns;
use crate::units::Tokens;

pub use checks::Note;
pub use error::PrepareError;
pub use freshness::earlier;
pub use lock::{Reading, Waiting};
pub use manifest::{Clip, Manifest};
pub use place::{Place, place};
pub use quarantine::{Quarantine, Quarantined};
pub use report::{Report, TooManyBad};
pub use run::{Event, Progress, Ready, Watch, prepare, ready, unwatched};

/// The name of the manifest in the output folder.
pub const MANIFEST: &str = "manifest.jsonl";
/// The name of the file of rejected clips.
pub const QUARANTINE: &str = "quarantine.jsonl";
/// The name of the report for programs.
const REPORT: &str = "report.json";
/// The name of the report for people.
pub const REPORT_TEXT: &str = "report.txt";
/// The folder of the feature cache below the output folder.
pub const CACHE: &str = "cache";
/// The folder of converted recordings below the output folder.
const AUDIO: &str = "audio";

/// The samples of a mel frame, which `max_mel_frames` counts.
const HOP: usize = 256;

/// What to prepare, and how.
#[derive(Clone, Debug)]
pub struct Request<'v> {
    /// The dataset: a folder, or its metadata file.
    pub dataset: PathBuf,
    /// The folder that the results go to.
    pub out: PathBuf,
    /// The text vocabulary, if there is one already.
    pub vocabulary: Option<&'v Vocabulary>,
    /// The number of threads that read clips.
    pub workers: NonZeroUsize,
    /// The arguments of a training with these settings; the report prints them,
    /// with the language where they do not name it.
    pub next: Vec<String>,
    /// What the results depend on.
    pub settings: Settings,
}

/// Everything that changes what is written, so that a stale manifest is noticed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// How recordings become waveforms.
    pub audio: AudioConfig,
    /// The language of lines that name none; where it is not given, the letters decide.
    pub language: Option<String>,
    /// What the columns of tables hold, where a person says so.
    pub columns: Option<Columns>,
    /// The longest text that is kept.
    pub max_text: Tokens,
    /// The longest clip that is kept.
    pub max_frames: Frames,
    /// The number of length buckets.
    pub buckets: u32,
    /// Whether clips that are too long are split at their pauses. Left out of what is
    /// written where they are not, so that what was prepared before this was a setting is
    /// still current.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub split_long: bool,
    /// The share of bad clips that is accepted.
    pub max_bad_fraction: f64,
    /// The share of clips held out for validation, where the dataset sets none apart.
    pub held_out_fraction: f64,
    /// The most clips held out for validation.
    pub held_out_most: usize,
    /// The seed of the split.
    pub seed: u64,
    /// Whether recordings are converted to FLAC.
    pub convert: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            audio: AudioConfig::default(),
            language: None,
            columns: None,
            max_text: Tokens(200),
            max_frames: Frames(800),
            buckets: 8,
            split_long: false,
            max_bad_fraction: 0.01,
            held_out_fraction: 0.05,
            held_out_most: 256,
            seed: 0,
            convert: false,
        }
    }
}

impl Settings {
    /// Returns the length of the longest clip that is kept.
    fn longest(&self) -> Samples {
        Samples(self.max_frames.0.saturating_mul(HOP))
    }

    /// Returns what a decoder may spend: a minute above the longest clip. That is
    /// room for silence that trimming takes off, and no worker decodes five hours
    /// to find that they are too long. Where long clips are split it is as much as a
    /// training spends, which decodes the recording of a piece as a whole.
    fn limits(&self) -> myxtts_audio::Limits {
        let Seconds(longest) = self.longest().at(self.audio.sample_rate);
        let longest = Seconds(longest + 60.0);
        let training = myxtts_audio::Limits::default().longest;
        myxtts_audio::Limits {
            longest: match self.split_long && longest < training {
                true => training,
                false => longest,
            },
        }
    }
}
