//! The rules: what rejects a clip, and what is only noted.
//!
//! A clip is rejected when training on it would be wrong whatever the rest of
//! the dataset is like. What is merely unusual is kept and noted: a rule that
//! throws away good recordings does more harm than a report with one line too
//! many.

use std::fmt;

use myxtts_audio::units::{Decibels, SampleRate, Samples, Seconds};
use myxtts_audio::{Fault, LevelError, LoadError, Waveform};
use myxtts_text::{Language, Script};
use serde::{Deserialize, Serialize};

use super::Settings;
use crate::units::Tokens;

/// A line of the metadata that names no clip.
pub(super) const BAD_LINE: &str = "bad_line";
/// A language that is not a language tag.
pub(super) const BAD_LANGUAGE: &str = "bad_language";
/// Nothing to say, before or after cleaning.
pub(super) const EMPTY_TEXT: &str = "empty_text";
/// A recording without sound.
pub(super) const SILENT: &str = "silent";
/// A clip under half a second.
pub(super) const TOO_SHORT: &str = "too_short";
/// A clip over `data.max_mel_frames`; the decoder uses the same word for its limit.
pub(super) const TOO_LONG: &str = "too_long";
/// A text over `data.max_text_length`.
pub(super) const TEXT_TOO_LONG: &str = "text_too_long";
/// A text in letters that the language is not written with.
pub(super) const WRONG_SCRIPT: &str = "wrong_script";
/// The recording of an earlier clip, with another text.
pub(super) const DUPLICATE_CONFLICT: &str = "duplicate_conflict";

/// The shortest clip; the reference trains on nothing shorter.
const SHORTEST: Seconds = Seconds(0.5);
/// A recording whose highest sample is below this is a muted microphone.
const SILENCE: Decibels = Decibels(-60.0);
/// The level that counts as full scale, as near to it as 16 bits come, both ways.
const FULL_SCALE: f32 = 32_766.0 / 32_768.0;
/// The number of samples in a row at full scale that are a cut-off wave and not a peak.
const CLIPPED_RUN: usize = 3;
/// The share of clipped samples that is heard: one in a thousand.
const CLIPPED_SHARE: f64 = 0.001;

/// Why a clip is not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rejection {
    pub(super) reason: &'static str,
    pub(super) why: String,
    /// The limit that would keep the clip, where a limit is the reason.
    pub(super) keeps: Option<u64>,
    /// Whether it was tried to split the clip.
    pub(super) unsplit: bool,
}

impl Rejection {
    pub(super) fn new(reason: &'static str, why: impl Into<String>) -> Self {
        Self {
            reason,
            why: why.into(),
            keeps: None,
            unsplit: false,
        }
    }

    /// Adds why the clip was not split instead.
    pub(super) fn unsplit(mut self, why: impl fmt::Display) -> Self {
        self.why = format!("{}; not split: {why}", self.why);
        self.unsplit = true;
        self
    }

    fn kept_by(mut self, limit: u64) -> Self {
        self.keeps = Some(limit);
        self
    }
}

/// Returns whether a reason is a limit somebody set and not a fault of the
/// recording. Such clips are left out and named, but do not count as bad: a dataset
/// with long sentences is not a broken one.
pub(super) fn is_limit(reason: &str) -> bool {
    [TOO_LONG, TEXT_TOO_LONG].contains(&reason)
}

/// What is odd about a clip that is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Note {
    /// The wave is cut off at full scale.
    Clipped,
    /// The recording and the text are those of an earlier clip.
    Duplicate,
    /// Recorded at a lower rate than the model's: the top of the band is empty.
    LowRate,
    /// There is far more or far less text per second than in the other clips.
    TextOutlier,
    /// The text has a character outside the vocabulary.
    UncoveredCharacter,
    /// The text has a piece that no cleaning rule covers.
    UnsupportedText,
}

impl Note {
    /// Returns what the note means, for people.
    pub(crate) fn meaning(self) -> &'static str {
        match self {
            Self::Clipped => "the wave is cut off at full scale",
            Self::Duplicate => "the same recording and text as an earlier clip",
            Self::LowRate => "recorded below the model's rate, so high frequencies are missing",
            Self::TextOutlier => {
                "far more or far less text per second than the others; the text may be another clip's"
            }
            Self::UncoveredCharacter => "the text has characters outside the vocabulary",
            Self::UnsupportedText => "the text has pieces that no cleaning rule covers",
        }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Clipped => "clipped",
            Self::Duplicate => "duplicate",
            Self::LowRate => "low_rate",
            Self::TextOutlier => "text_outlier",
            Self::UncoveredCharacter => "uncovered_character",
            Self::UnsupportedText => "unsupported_text",
        })
    }
}

/// Returns the rejection of a recording that could not be loaded.
pub(super) fn unreadable(error: &LoadError, settings: &Settings) -> Rejection {
    match error {
        LoadError::Decode(error) => {
            let rejection = Rejection::new(error.fault.reason(), error.fault.to_string());
            match error.fault {
                Fault::TooLong { length, .. } => rejection.kept_by(frames(length, settings)),
                _ => rejection,
            }
        }
        LoadError::Level { source, .. } => {
            let reason = match source {
                LevelError::TooShort => TOO_SHORT,
                _ => SILENT,
            };
            Rejection::new(reason, source.to_string())
        }
        other => Rejection::new("unreadable", other.to_string()),
    }
}

/// Returns the number of frames of a recording that was not decoded.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a conversion of floats saturates"
)]
fn frames(length: Seconds, settings: &Settings) -> u64 {
    let samples = length.0 * f64::from(settings.audio.sample_rate.hz());
    (samples / super::HOP as f64).ceil() as u64
}

/// Rejects a text in letters of another language. Latin letters pass: names and
/// brands are written with them everywhere.
pub(super) fn script(text: &str, language: &Language) -> Result<(), Rejection> {
    match Script::main_of(text) {
        Some(script) if script != Script::Latin && !language.is_written_with(script) => {
            let why =
                format!("the text has {script} letters, but `{language}` is not written with them");
            Err(Rejection::new(WRONG_SCRIPT, why))
        }
        _ => Ok(()),
    }
}

/// Rejects a recording without sound, judged before anything is made louder.
pub(super) fn silence(decoded: &Waveform) -> Option<Rejection> {
    let samples = &decoded.samples;
    let peak = samples.iter().fold(0.0_f32, |peak, x| peak.max(x.abs()));
    (peak < SILENCE.amplitude()).then(|| {
        Rejection::new(
            SILENT,
            format!("the highest sample is {peak:.5} of full scale"),
        )
    })
}

/// Rejects a clip that is too short or too long once it is trimmed.
pub(super) fn length(samples: Samples, settings: &Settings) -> Result<(), Rejection> {
    let rate = settings.audio.sample_rate;
    let lasts = samples.at(rate);
    if lasts < SHORTEST {
        let why = format!("{lasts} without its silence, but {SHORTEST} are needed");
        return Err(Rejection::new(TOO_SHORT, why));
    }
    let longest = settings.longest();
    if samples > longest {
        let why = format!(
            "{lasts}, but max_mel_frames {} allows {}",
            settings.max_frames.0,
            longest.at(rate)
        );
        let keeps = samples.0.div_ceil(super::HOP) as u64;
        return Err(Rejection::new(TOO_LONG, why).kept_by(keeps));
    }
    Ok(())
}

/// Rejects a text over the model's limit.
pub(super) fn text_length(tokens: Tokens, most: Tokens) -> Result<(), Rejection> {
    if tokens > most {
        let why = format!("{} tokens, but max_text_length is {}", tokens.0, most.0);
        return Err(Rejection::new(TEXT_TOO_LONG, why).kept_by(u64::from(tokens.0)));
    }
    Ok(())
}

/// Returns whether enough of the samples stand in runs at full scale.
pub(super) fn is_clipped(samples: &[f32]) -> bool {
    let (mut clipped, mut run) = (0_usize, 0_usize);
    for sample in samples {
        if sample.abs() >= FULL_SCALE {
            run += 1;
            // The sample that completes a run counts the whole run.
            clipped += match run.cmp(&CLIPPED_RUN) {
                std::cmp::Ordering::Less => 0,
                std::cmp::Ordering::Equal => CLIPPED_RUN,
                std::cmp::Ordering::Greater => 1,
            };
        } else {
            run = 0;
        }
    }
    clipped as f64 > samples.len() as f64 * CLIPPED_SHARE
}

/// Returns whether a recording lacks the top of the model's band.
pub(super) fn is_low_rate(rate: SampleRate, settings: &Settings) -> bool {
    rate < settings.audio.sample_rate
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_peaks_are_not_clipping_and_plateaus_are() {
        let peaks: Vec<f32> = (0..1000)
            .map(|n| if n % 10 == 0 { 1.0 } else { 0.1 })
            .collect();
        assert!(!is_clipped(&peaks));
        let mut plateau = vec![0.1; 1000];
        plateau[100..103].fill(-1.0);
        assert!(is_clipped(&plateau));
        assert!(
            !is_clipped(&[&plateau[..], &[0.0; 9000]].concat()),
            "three in ten thousand"
        );
        assert!(!is_clipped(&[]));
    }

    #[test]
    fn lengths_are_judged_at_both_ends() {
        let settings = Settings::default();
        let reason = |samples| length(Samples(samples), &settings).err().map(|r| r.reason);
        assert_eq!(reason(11_024), Some(TOO_SHORT));
        assert_eq!(reason(11_025), None);
        assert_eq!(reason(800 * 256), None);
        assert_eq!(reason(800 * 256 + 1), Some(TOO_LONG));
        assert!(is_limit(TOO_LONG) && !is_limit(TOO_SHORT));
    }
}
