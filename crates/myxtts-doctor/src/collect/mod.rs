//! Records of a run, folded into signals: from its files, or while it trains.
//!
//! A run goes from stage to stage and only the newest counts, so a step of
//! another stage starts the collection anew. The first steps fill rings and
//! compile kernels; they are left out. Memory is bounded whatever the length of
//! the run: sums, and the newest step times.

mod devices;
mod ledger;
mod steps;

use std::collections::VecDeque;

pub use devices::{DeviceLine, DeviceReading, HostReading};
pub use ledger::{LedgerLine, LedgerStage};
pub use steps::StepLine;

use crate::signal::Signal;
use crate::signals::{Settings, Signals, Strategy};
use devices::DeviceFold;
use ledger::LedgerFold;
use steps::StepFold;

/// The number of steps of a stage that are its warm-up.
pub const WARM_UP: usize = 10;
/// A stage with fewer steps than this has a quarter of them as its warm-up.
const SHORT: usize = 4 * WARM_UP;
/// The number of newest values that are kept.
const NEWEST: usize = 1024;

/// Folds the records of a run into signals.
#[derive(Clone, Debug, Default)]
pub struct Collector {
    steps: StepFold,
    ledger: LedgerFold,
    devices: DeviceFold,
}

impl Collector {
    /// Makes a collector without any records.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a line of `metrics.jsonl`. A line of another stage starts anew.
    pub fn step(&mut self, line: &StepLine) {
        let stage = self.steps.stage();
        self.steps.add(line);
        if self.steps.stage() != stage {
            // Another stage has another load: what devices did before says nothing of it.
            self.devices = DeviceFold::default();
        }
    }

    /// Adds a line of `ledger.jsonl`. A line of another pipeline starts anew.
    pub fn ledger(&mut self, line: &LedgerLine) {
        self.ledger.add(line);
    }

    /// Adds a line of `devices.jsonl`; lines from before the measured steps do not count.
    pub fn device(&mut self, line: &DeviceLine) {
        if self
            .steps
            .since()
            .is_some_and(|since| line.wall_time >= since)
        {
            self.devices.add(line);
        }
    }

    /// Returns the newest step, if there was one.
    pub(crate) fn at_step(&self) -> Option<u64> {
        self.steps.at_step()
    }

    /// Returns everything so far as signals. `known` has what else is known: settings,
    /// devices of the plan, the machine, the dataset.
    pub fn signals(&self, known: Signals) -> Signals {
        let mut signals = known;
        signals.settings.stage = self.steps.stage().or(signals.settings.stage.clone());
        let mirrors = mirrors(&signals.settings);
        self.steps.fill(&mut signals.steps, mirrors);
        let accumulation = signals.settings.accumulation.known().copied().unwrap_or(1);
        self.ledger.fill(&mut signals.pipeline, accumulation);
        self.devices.fill(&mut signals);
        signals
    }
}

/// Returns whether gradients are averaged between replicas, where the plan is known.
fn mirrors(settings: &Settings) -> Option<bool> {
    let strategy = settings.strategy.known()?;
    Some(matches!(
        strategy,
        Strategy::Mirrored | Strategy::SplitMirrored
    ))
}

/// A running mean, of finite values only.
#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    sum: f64,
    count: u64,
}

impl Mean {
    fn add(&mut self, value: Option<f64>) {
        if let Some(value) = value.filter(|value| value.is_finite()) {
            self.sum += value;
            self.count += 1;
        }
    }

    fn get(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }

    fn signal<T>(&self, unit: impl FnOnce(f64) -> T, why: &str) -> Signal<T> {
        Signal::from_option(self.get().map(unit), why)
    }
}

/// The newest values, at most [`NEWEST`] of them.
#[derive(Clone, Debug, Default)]
struct Newest(VecDeque<f64>);

impl Newest {
    fn push(&mut self, value: f64) {
        if self.0.len() == NEWEST {
            self.0.pop_front();
        }
        self.0.push_back(value);
    }

    fn to_vec(&self) -> Vec<f64> {
        self.0.iter().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::healthy;

    fn line<T: serde::de::DeserializeOwned>(value: serde_json::Value) -> T {
        serde_json::from_value(value).unwrap()
    }

    fn train(collector: &mut Collector, stage: &str, from: u64, busy: f64) {
        for step in from..from + 8 {
            collector.step(&line(serde_json::json!({
                "step": step, "stage": stage, "wall_time": step, "loss": 1.0, "step_s": 1.0,
            })));
            collector.device(&line(serde_json::json!({
                "wall_time": step,
                "devices": [{ "device": 0, "utilisation_pct": busy }],
            })));
        }
    }

    #[test]
    fn readings_of_an_earlier_stage_do_not_count() {
        let mut collector = Collector::new();
        train(&mut collector, "dvae", 1, 10.0);
        train(&mut collector, "gpt", 9, 90.0);
        let busy = collector.signals(healthy()).devices[0].busy.clone();
        assert!((busy.known().unwrap().0 - 0.9).abs() < 1e-9, "{busy:?}");
    }
}
