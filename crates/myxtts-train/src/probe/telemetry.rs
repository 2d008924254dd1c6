//! `myxtts bench telemetry`: what recording costs a training.
//!
//! It runs one training, whose epochs are recorded and unrecorded in turn: the full line of every
//! step, readings of the devices, a verdict at the end. Epochs hold the same clips, so two that
//! follow each other are the same work, and a machine that grows slow grows slow for both.

use std::cell::Cell;
use std::rc::Weak;
use std::sync::Arc;
use std::time::{Duration, Instant};

use myxtts_device::telemetry::SystemTelemetry;
use myxtts_pipeline::{Pipeline, Start};
use myxtts_run::metrics::{MetricsWriter, Record};
use myxtts_run::observer::Observer;
use myxtts_run::run_folder::{RunFolder, RunLog};
use myxtts_run::units::Step;
use serde::Serialize;

use super::train_epochs;
use crate::error::TrainError;
use crate::placement::Placement;
use crate::session::checkup::Checkup;
use crate::session::recorder::measured;
use crate::session::sampler::{self, Sampler};
use crate::session::{Job, TrainRequest};
use crate::stage::execute::StageObserver;
use crate::train_loop::{State, StepObserver, StepReport};

/// The cost of recording a training.
#[derive(Clone, Debug, Serialize)]
pub struct TelemetryFigures {
    /// Pairs of epochs, of which one is recorded.
    pub pairs: usize,
    /// Steps of an epoch.
    pub steps: u64,
    /// Median seconds of a recorded epoch.
    pub with_s: f64,
    /// Median seconds of an unrecorded epoch.
    pub without_s: f64,
    /// Median over the pairs of how much longer the recorded epoch took, in
    /// percent.
    pub cost_pct: f64,
    /// The bounds of the middle half of the pairs, in percent.
    pub quartiles_pct: [f64; 2],
    /// What the training thread itself spent on recording, in percent of the recorded epochs.
    pub thread_pct: f64,
}

/// Epochs that fill caches and are not counted.
const WARM_UP: usize = 2;

/// Trains for `pairs` pairs of epochs, and compares the two of each. The observer is told if
/// readings of the devices end before the training.
pub fn measure_telemetry(
    training: &TrainRequest,
    placement: &Placement,
    pairs: usize,
    observer: Arc<dyn Observer>,
) -> Result<TelemetryFigures, TrainError> {
    let job = &Job::of(training);
    let place = tempfile::tempdir().map_err(TrainError::failed)?;
    let folder = RunFolder::take(place.path().join("run"));
    let folder = folder.map_err(TrainError::failed)?;
    let log = RunLog::open(&folder.log(), observer)?;
    let per_epoch = Cell::new(1);
    let mut observer = Alternating {
        metrics: MetricsWriter::open(folder.metrics(), None)?.0,
        checkup: Checkup::of(&folder),
        folder,
        log: Arc::new(log),
        placement,
        sample_rate: f64::from(job.clips.audio.sample_rate.hz()),
        per_epoch: &per_epoch,
        epochs: vec![],
        begin: Instant::now(),
        spent: Duration::ZERO,
        sampler: None,
    };
    let epochs = (WARM_UP + 2 * pairs) as u64;
    train_epochs(
        job,
        placement,
        epochs,
        |steps| per_epoch.set(steps),
        &mut observer,
    )?;
    let counted = observer.epochs.get(WARM_UP..).unwrap_or_default();
    Ok(figures(counted, observer.spent, per_epoch.get()))
}

/// Records every other epoch.
struct Alternating<'a> {
    folder: RunFolder,
    metrics: MetricsWriter,
    checkup: Checkup,
    log: Arc<RunLog>,
    placement: &'a Placement,
    sample_rate: f64,
    per_epoch: &'a Cell<u64>,
    /// Seconds of each epoch, and whether it was recorded.
    epochs: Vec<(bool, f64)>,
    /// When the present epoch began.
    begin: Instant,
    /// Time that this thread has spent on recording.
    spent: Duration,
    sampler: Option<Sampler>,
}

/// Whether an epoch is recorded: the first of a pair, and in the next pair the second, so that
/// drift affects both alike.
fn is_recorded(epoch: usize) -> bool {
    matches!(epoch % 4, 0 | 3)
}

impl Alternating<'_> {
    /// Writes the line of a run without telemetry, with the rest of it in a recorded epoch.
    fn record(&mut self, report: &StepReport, is_recorded: bool) -> Result<(), TrainError> {
        let mut record = Record::new(Step(report.step))
            .text("stage", "gpt")
            .f32("loss", report.loss);
        for (name, value) in &report.parts {
            record = record.f32(name, *value);
        }
        record = record
            .f32("gradient_norm", report.norm)
            .f64("learning_rate", report.rate);
        if is_recorded {
            let begin = Instant::now();
            let took = self.begin.elapsed();
            record = measured(record, report, took, self.sample_rate, Some(1.0));
            self.spent += begin.elapsed();
        }
        Ok(self.metrics.append(&record)?)
    }

    fn end_epoch(&mut self, was_recorded: bool, step: u64) -> Result<(), TrainError> {
        if was_recorded {
            let begin = Instant::now();
            self.checkup.look(Step(step), step)?;
            self.spent += begin.elapsed();
        }
        drop(self.sampler.take());
        let took = self.begin.elapsed().as_secs_f64();
        self.epochs.push((was_recorded, took));
        if self.epochs.len() <= WARM_UP {
            self.spent = Duration::ZERO;
        }
        Ok(())
    }

    fn begin_epoch(&mut self) -> Result<(), TrainError> {
        self.begin = Instant::now();
        if is_recorded(self.epochs.len()) {
            let sampler = Sampler::start(
                self.folder.devices(),
                self.placement.gpus.clone(),
                SystemTelemetry::new,
                sampler::EVERY,
                Arc::clone(&self.log),
            )?;
            self.sampler = Some(sampler);
        }
        Ok(())
    }
}

impl<T> StepObserver<T> for Alternating<'_> {
    fn looks_at(&self, step: u64) -> bool {
        step.is_multiple_of(self.per_epoch.get())
    }

    fn after_step(&mut self, report: &StepReport, _: &State<T>) -> Result<bool, TrainError> {
        let is_recorded = is_recorded(self.epochs.len());
        self.record(report, is_recorded)?;
        if report.step.is_multiple_of(self.per_epoch.get()) {
            self.end_epoch(is_recorded, report.step)?;
            self.begin_epoch()?;
        }
        Ok(false)
    }
}

impl<T> StageObserver<T> for Alternating<'_> {
    fn started(&mut self, _: Duration, _: &Start, _: &State<T>) -> Result<bool, TrainError> {
        self.begin_epoch()?;
        Ok(false)
    }

    fn pipeline(&mut self, _: Weak<Pipeline>) {}
}

fn figures(epochs: &[(bool, f64)], spent: Duration, steps: u64) -> TelemetryFigures {
    let of = |recorded: bool| -> Vec<f64> {
        let own = epochs.iter().filter(|(kind, _)| *kind == recorded);
        own.map(|(_, seconds)| *seconds).collect()
    };
    let (with, without) = (of(true), of(false));
    let costs: Vec<f64> = with
        .iter()
        .zip(&without)
        .map(|(with, without)| 100.0 * (with / without - 1.0))
        .collect();
    TelemetryFigures {
        pairs: costs.len(),
        steps,
        with_s: quantile(&with, 0.5),
        without_s: quantile(&without, 0.5),
        cost_pct: quantile(&costs, 0.5),
        quartiles_pct: [quantile(&costs, 0.25), quantile(&costs, 0.75)],
        thread_pct: 100.0 * spent.as_secs_f64() / with.iter().sum::<f64>().max(1e-9),
    }
}

fn quantile(values: &[f64], share: f64) -> f64 {
    myxtts_doctor::stats::percentile(values, share).unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_of_neighbours() {
        let kinds: Vec<bool> = (0..8).map(is_recorded).collect();
        assert_eq!(kinds, [true, false, false, true, true, false, false, true]);
        // A machine that grows slow, and a record that costs a hundredth.
        let epochs: Vec<(bool, f64)> = (2..42)
            .map(|epoch| {
                let pace = 1.0 + epoch as f64 / 100.0;
                let cost = if is_recorded(epoch) { 1.01 } else { 1.0 };
                (is_recorded(epoch), pace * cost)
            })
            .collect();
        let found = figures(&epochs, Duration::from_millis(10), 7);
        assert_eq!((found.pairs, found.steps), (20, 7));
        assert!((found.cost_pct - 1.0).abs() < 0.7, "{found:?}");
        assert!(found.quartiles_pct[0] < found.cost_pct);
        assert!(found.thread_pct > 0.0 && found.thread_pct < 0.1);
    }
}
