//! A run folder, read into signals: live or finished, whole or in part, of
//! this version or an older one. What is missing is `unavailable`; only a
//! folder that is not there, or is not a run's, is an error.

mod config;
mod dataset;
mod lines;
mod plan;
#[cfg(test)]
mod tests;

use std::fs;
use std::path::{Path, PathBuf};

use myxtts_base::report;

use crate::collect::{Collector, DeviceLine, LedgerLine, StepLine};
use crate::lang::Lang;
use crate::signal::Signal;
use crate::signals::Signals;
use lines::{Lines, each};

/// How many bytes of each file are read: its newest part. A day of a fast run is
/// less; of a longer one the newest steps say more than the first.
const MOST: u64 = 64 << 20;

/// What was read from a run folder.
#[derive(Clone, Debug)]
pub struct RunReading {
    /// What the folder says.
    pub signals: Signals,
    /// The newest step; `None` where none was taken.
    pub at_step: Option<u64>,
    /// What was odd about the files; none of it is an error.
    pub notes: Vec<Note>,
}

/// Something odd about a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// The file cannot be read at all.
    Unreadable {
        /// The name of the file.
        file: &'static str,
        /// The system's or the reader's reason.
        why: String,
    },
    /// Some lines of the file are not what they should be.
    BadLines {
        /// The name of the file.
        file: &'static str,
        /// The number of such lines.
        lines: u64,
        /// Why the first of them could not be read.
        why: String,
    },
}

impl Note {
    /// Returns the name of the file.
    pub fn file(&self) -> &'static str {
        match self {
            Self::Unreadable { file, .. } | Self::BadLines { file, .. } => file,
        }
    }

    /// Writes the note in a language.
    pub(crate) fn in_lang(&self, lang: Lang) -> String {
        match self {
            Self::Unreadable { file, why } => lang.pick(
                format!("{file} could not be read: {why}"),
                format!("{file} خوانده نشد: {why}"),
            ),
            Self::BadLines { file, lines, why } => {
                let lines = lang.digits(&lines.to_string());
                lang.pick(
                    format!("{file}: {lines} lines could not be read and were left out (the first: {why})"),
                    format!("{file}: {lines} سطر خوانده نشد و کنار گذاشته شد (نخستین: {why})"),
                )
            }
        }
    }
}

/// Why a folder cannot be read as a run.
#[derive(Debug, thiserror::Error)]
pub enum NotARun {
    /// The folder is not there, or may not be read.
    #[error(
        "{}",
        report!(
            "{} cannot be read: {why}", path.display();
            fix: "name a run's folder, as in --run runs/NAME; `myxtts train` makes one"
        )
    )]
    Unreadable {
        /// The folder that was named.
        path: PathBuf,
        /// The error of the system.
        why: std::io::Error,
    },
    /// The folder is not that of a run.
    #[error(
        "{}",
        report!(
            "{} is not a run folder: it has none of config.yaml, plan.json and metrics.jsonl",
            path.display();
            fix: "name a run's folder, as in --run runs/NAME; `myxtts train` makes one"
        )
    )]
    Foreign {
        /// The folder that was named.
        path: PathBuf,
    },
}

impl NotARun {
    /// Writes the error in a language.
    pub fn in_lang(&self, lang: Lang) -> String {
        let fix = "نامِ پوشهٔ یک اجرا را بدهید، مانند --run runs/NAME؛ `myxtts train` آن را می‌سازد";
        match (self, lang) {
            (_, Lang::En) => self.to_string(),
            (Self::Unreadable { path, why }, Lang::Fa) => {
                format!("{} خوانده نمی‌شود: {why}\n  راه: {fix}", path.display())
            }
            (Self::Foreign { path }, Lang::Fa) => format!(
                "{} پوشهٔ یک اجرا نیست: هیچ‌یک از config.yaml و plan.json و metrics.jsonl را ندارد\n  راه: {fix}",
                path.display()
            ),
        }
    }
}

/// Reads a run folder.
///
/// # Errors
/// If there is no such folder, or it is not a run's.
pub fn read_run(folder: &Path) -> Result<RunReading, NotARun> {
    let unreadable = |why| NotARun::Unreadable {
        path: folder.to_owned(),
        why,
    };
    fs::read_dir(folder).map_err(unreadable)?;
    let known = ["config.yaml", "plan.json", "metrics.jsonl", "run.lock"];
    if known.iter().all(|name| !folder.join(name).exists()) {
        return Err(NotARun::Foreign {
            path: folder.to_owned(),
        });
    }
    let mut notes = Vec::new();
    let mut signals = Signals::default();
    signals.machine.backends =
        Signal::unavailable("a run folder does not hold what device discovery found");
    signals.storage.cold = Signal::unavailable("a run folder does not hold a probe of the disk");
    signals.storage.warm = signals.storage.cold.clone();
    signals.storage.needed = signals.storage.cold.clone();
    signals.steps.headroom = Signal::unavailable("a run folder does not hold a headroom test");
    signals.steps.modes = Signal::unavailable(
        "a run folder does not hold a comparison of modes; `myxtts profile` makes one",
    );
    config::fill(&folder.join("config.yaml"), &mut signals, &mut notes);
    plan::fill(&folder.join("plan.json"), &mut signals, &mut notes);
    dataset::fill(folder, &mut signals);
    let mut collector = Collector::new();
    read(folder, "metrics.jsonl", &mut notes, |line: StepLine| {
        collector.step(&line)
    });
    read(folder, "ledger.jsonl", &mut notes, |line: LedgerLine| {
        collector.ledger(&line)
    });
    // The older file comes first; a run that has not written that much has none.
    if folder.join("devices.1.jsonl").exists() {
        read(folder, "devices.1.jsonl", &mut notes, |line: DeviceLine| {
            collector.device(&line)
        });
    }
    read(folder, "devices.jsonl", &mut notes, |line: DeviceLine| {
        collector.device(&line)
    });
    signals.steps.remaining = remaining(&folder.join("train.log"));
    Ok(RunReading {
        at_step: collector.at_step(),
        signals: collector.signals(signals),
        notes,
    })
}

fn read<T: serde::de::DeserializeOwned>(
    folder: &Path,
    file: &'static str,
    notes: &mut Vec<Note>,
    take: impl FnMut(T),
) {
    match each(&folder.join(file), MOST, take) {
        Ok(Lines { bad: 0, .. }) => {}
        Ok(Lines { bad, first_bad }) => notes.push(Note::BadLines {
            file,
            lines: bad,
            why: first_bad,
        }),
        Err(why) => notes.push(Note::Unreadable {
            file,
            why: why.to_string(),
        }),
    }
}

/// Returns the number of steps to come, from the newest line of progress: `step
/// 120/2392`.
fn remaining(log: &Path) -> Signal<u64> {
    let found = lines::tail(log, 64 << 10).ok().and_then(|tail| {
        let text = String::from_utf8_lossy(&tail).into_owned();
        text.lines().rev().find_map(|line| {
            let (_, rest) = line.split_once(" step ")?;
            let (step, rest) = rest.split_once('/')?;
            let total = rest.split_whitespace().next()?;
            let (step, total): (u64, u64) = (step.parse().ok()?, total.parse().ok()?);
            Some(total.saturating_sub(step))
        })
    });
    Signal::from_option(found, "train.log has no progress line")
}
