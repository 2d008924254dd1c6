//! The speed that a tuned file records, and whether it still holds.

use std::fmt;
use std::path::Path;

use myxtts_base::{Report, report};
use serde::{Deserialize, Serialize};

use super::{Tuner, device};
use crate::error::Error;
use crate::steps::{Effort, StepFigures, medians};

/// A configuration that trains this much slower has lost what it was tuned for.
const LOST: f64 = 0.10;
const MARK: &str = "# record: ";

/// The line of a tuned file that programs read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Record {
    audio_per_s: f64,
    steps: u32,
    device: String,
}

impl Record {
    pub(super) fn of(figures: &StepFigures, device: String, steps: u32) -> Self {
        Self {
            audio_per_s: figures.audio_per_s,
            steps,
            device,
        }
    }

    /// Returns the line as it is written in the file.
    pub(super) fn line(&self) -> String {
        format!("{MARK}{}", serde_json::json!(self))
    }

    fn find(text: &str) -> Option<Self> {
        let line = text.lines().find_map(|line| line.strip_prefix(MARK))?;
        serde_json::from_str(line).ok()
    }
}

/// The result of measuring a file against its record.
#[derive(Debug, Serialize)]
pub struct Verified {
    file: String,
    recorded_audio_per_s: f64,
    audio_per_s: f64,
    rounds: Vec<f64>,
    /// How much slower than the record it is, in percent; negative if it is faster.
    lost_pct: f64,
    is_kept: bool,
    /// The device that the record was made on, if it is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    recorded_on: Option<String>,
}

/// Measures the file at `path` against its record.
pub(super) fn verify(tuner: &Tuner<'_>, path: &Path) -> Result<Verified, Error> {
    let text = std::fs::read_to_string(path)
        .map_err(|why| Error::Refused(report!("{}: {why}", path.display())))?;
    let Some(record) = Record::find(&text) else {
        return Err(Error::Refused(report!(
            "{} has no record to compare with: a line that begins with `{}`",
                path.display(), MARK.trim_end();
            fix: "write the file with `myxtts tune --out FILE`"
        )));
    };
    let effort = Effort {
        steps: record.steps,
        ..tuner.effort
    };
    tuner.observer.line(&format!(
        "measuring {} steps of {}",
        record.steps,
        path.display()
    ));
    let candidates = [tuner.candidate(&[])];
    let measured = medians(&candidates, effort, |_, _, _| {})?;
    let measured = match measured.into_iter().next() {
        Some(Ok(measured)) => measured,
        Some(Err(ended)) => return Err(ended.error(&path.display().to_string())),
        None => return Err(Error::Failed("nothing was measured".into())),
    };
    let here = device(&tuner.plan);
    Ok(Verified::of(path, &record, measured.rounds, &here))
}

impl Verified {
    /// Returns what is wrong if the file trains more than a tenth slower than its record.
    pub fn problem(&self) -> Option<Report> {
        (!self.is_kept).then(|| {
            report!(
                "{} trains {:.1} % slower than its record", self.file, self.lost_pct;
                fix: "look for other work on the machine with `myxtts doctor`, or tune again"
            )
        })
    }

    /// Compares by the fastest round: other work on the machine can only slow a round down.
    fn of(path: &Path, record: &Record, rounds: Vec<f64>, here: &str) -> Self {
        let audio_per_s = rounds.iter().copied().fold(0.0, f64::max);
        let lost = 1.0 - audio_per_s / record.audio_per_s.max(1e-9);
        Self {
            file: path.display().to_string(),
            recorded_audio_per_s: record.audio_per_s,
            audio_per_s,
            rounds,
            lost_pct: 100.0 * lost,
            is_kept: lost <= LOST,
            recorded_on: (record.device != here).then(|| record.device.clone()),
        }
    }
}

impl fmt::Display for Verified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{}: {:.2} s of audio per second, recorded {:.2} ({:+.1} %)",
            self.file, self.audio_per_s, self.recorded_audio_per_s, -self.lost_pct
        )?;
        if let Some(other) = &self.recorded_on {
            writeln!(f, "the record is of another device: {other}")?;
        }
        let verdict = match self.is_kept {
            true => "within 10 % of its record",
            false => "more than 10 % slower than its record",
        };
        writeln!(f, "{verdict}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> Record {
        Record {
            audio_per_s: 100.0,
            steps: 20,
            device: "a card".to_owned(),
        }
    }

    #[test]
    fn a_record_is_found_again_in_its_file() {
        let text = format!("# a comment\n{}\ndata:\n  batch_size: 4\n", record().line());
        assert_eq!(Record::find(&text), Some(record()));
        assert_eq!(Record::find("data:\n  batch_size: 4\n"), None);
    }

    #[test]
    fn a_tenth_less_is_still_kept_and_more_is_lost() {
        let of = |speed| Verified::of(Path::new("x.yaml"), &record(), vec![speed], "a card");
        assert!(of(90.1).is_kept && of(130.0).is_kept);
        assert!(!of(89.9).is_kept);
        let elsewhere = Verified::of(Path::new("x.yaml"), &record(), vec![80.0, 85.0], "another");
        insta::assert_snapshot!(elsewhere.to_string());
    }
}
