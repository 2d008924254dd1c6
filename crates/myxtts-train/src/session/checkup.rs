//! The doctor's look at a run in training: `findings.json`, and a sentence.
//!
//! It reads the run's own files, a few lines further each time, so that anyone who reads the
//! folder comes to the same conclusions.

use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use myxtts_doctor::collect::WARM_UP;
use myxtts_doctor::report::sentence;
use myxtts_doctor::{Collector, Lang, Signals, diagnose, read_run};
use myxtts_run::FileError;
use myxtts_run::run_folder::RunFolder;
use myxtts_run::units::Step;
use serde_json::{Value, json};

use super::follow::LineFollower;

/// Steps of a stage before the first look: its warm-up, and enough after it for a measurement.
pub(crate) const FIRST: u64 = 4 * WARM_UP as u64;

/// All looks together take at most one part in this many of the time.
const SHARE: u32 = 400;

/// Looks at a run from time to time.
#[derive(Debug)]
pub(crate) struct Checkup {
    findings: PathBuf,
    /// What is known from the configuration, the plan and the dataset.
    known: Signals,
    collector: Collector,
    metrics: LineFollower,
    ledger: LineFollower,
    devices: LineFollower,
    /// When the last look ended, and how long it took.
    last: Option<(Instant, Duration)>,
}

impl Checkup {
    /// Follows the run in this folder from now on.
    pub(crate) fn of(folder: &RunFolder) -> Self {
        // If nothing can be read from the folder, nothing is known yet.
        let known = read_run(folder.path()).map_or_else(|_| Signals::default(), |run| run.signals);
        Self {
            findings: folder.findings(),
            known,
            collector: Collector::new(),
            metrics: LineFollower::from_here(folder.metrics()),
            ledger: LineFollower::from_here(folder.ledger()),
            devices: LineFollower::from_here(folder.devices()),
            last: None,
        }
    }

    /// Whether a look now would cost too much: a small dataset has an epoch
    /// every other second.
    pub(crate) fn is_too_soon(&self) -> bool {
        self.last
            .is_some_and(|(last, took)| last.elapsed() < took * SHARE)
    }

    /// Looks, writes the findings to the file, and sums them up in a sentence.
    pub(crate) fn look(&mut self, step: Step, remaining: u64) -> Result<String, FileError> {
        let begin = Instant::now();
        let followed = self.follow();
        followed.map_err(FileError::when("read the files beside", &self.findings))?;
        self.known.steps.remaining = remaining.into();
        let diagnosis = diagnose(&self.collector.signals(self.known.clone()));
        let mut document = json!({ "at_step": step.0, "wall_time": wall_time() });
        if let (Some(document), Ok(Value::Object(found))) =
            (document.as_object_mut(), serde_json::to_value(&diagnosis))
        {
            document.extend(found);
        }
        let text = format!("{document:#}\n");
        let written = myxtts_files::replace(&self.findings, text.as_bytes());
        written.map_err(FileError::when("write", &self.findings))?;
        self.last = Some((Instant::now(), begin.elapsed()));
        Ok(sentence(&diagnosis, Lang::En))
    }

    fn follow(&mut self) -> io::Result<()> {
        let collector = &mut self.collector;
        self.metrics.each(|line| collector.step(&line))?;
        self.ledger.each(|line| collector.ledger(&line))?;
        self.devices.each(|line| collector.device(&line))
    }
}

fn wall_time() -> f64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0.0, |now| (now.as_secs_f64() * 1e3).round() / 1e3)
}
