//! The whole report.

use myxtts_pipeline::{Entry, PipelineStage};
use serde::Serialize;

use crate::occupancy::RingUse;
use crate::oscillation::Oscillation;
use crate::overlap::Overlap;
use crate::spread::Spread;
use crate::stages::StageTimes;
use crate::timeline::{Timeline, Window};

/// One optimizer step by the clock of the training thread, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepTime {
    /// The time from the end of the step before to the end of this one.
    pub wall_s: f64,
    /// The time spent waiting for batches.
    pub data_wait_s: f64,
    /// The time spent waiting for the device, to read a loss or a norm; absent where
    /// it was not measured.
    pub read_back_s: Option<f64>,
    /// The time spent averaging gradients with other replicas; absent without any.
    pub collective_s: Option<f64>,
    /// How much work there was, in any unit: a longer step with more work is not a
    /// stall.
    pub work: f64,
}

/// A part of the step, on the thread that trains.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Part {
    /// The name of the part.
    pub part: &'static str,
    /// Its spread over the steps.
    #[serde(flatten)]
    pub times: Spread,
    /// Its share of the steps' time, in percent.
    pub share_pct: f64,
}

/// What was found out about a stretch of training.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Profile {
    /// The length of the stretch, in seconds.
    pub wall_s: f64,
    /// The number of steps in it.
    pub steps: usize,
    /// Batches per step, on each model device.
    pub accumulation: usize,
    /// The time of a step.
    pub step: Spread,
    /// Where a step's time went, on the training thread.
    pub parts: Vec<Part>,
    /// Percent of the wall time that the ledger accounts for, on the threads that
    /// train.
    pub accounted_pct: f64,
    /// The times of each stage.
    pub stages: Vec<StageTimes>,
    /// The stage that the others wait for.
    pub slowest: Option<PipelineStage>,
    /// How much of the work was done beside other work.
    pub overlap: Overlap,
    /// How evenly steps follow each other; absent for fewer than eight.
    pub oscillation: Option<Oscillation>,
    /// The use of each ring.
    pub rings: Vec<RingUse>,
    #[serde(skip)]
    window: Window,
    #[serde(skip)]
    timeline: Timeline,
}

impl Profile {
    /// Makes the profile of a ledger whose first `warm_up` steps do not count, and of
    /// the steps after them by their own clock. `wall_s` is what those steps took
    /// together by a clock that knows nothing of either.
    pub fn of(
        entries: &[Entry],
        warm_up: u64,
        accumulation: usize,
        steps: &[StepTime],
        wall_s: f64,
    ) -> Self {
        let timeline = Timeline::of(entries);
        let accumulation = accumulation.max(1);
        let first = warm_up * accumulation as u64;
        let window = timeline.window_from(first);
        let stages = StageTimes::all(&timeline, window);
        let model = stages
            .iter()
            .find(|stage| stage.stage == PipelineStage::Model);
        let lanes = model.map_or(1, |model| model.threads.max(1));
        let batches = model.map_or(0, |model| model.busy.count / lanes);
        let noted = model.map_or(0.0, |model| model.busy_s + model.wait_in_s);
        let accounted = noted / lanes as f64 / wall_s.max(1e-9);
        let slowest = stages
            .iter()
            .max_by(|a, b| a.least_s().total_cmp(&b.least_s()));
        Self {
            wall_s,
            steps: steps.len(),
            accumulation,
            step: Spread::of(&steps.iter().map(|step| step.wall_s).collect::<Vec<_>>()),
            parts: parts(steps),
            accounted_pct: 100.0 * accounted,
            slowest: slowest.map(|stage| stage.stage),
            overlap: Overlap::of(&stages, window.seconds(), batches, lanes),
            oscillation: Oscillation::of(steps),
            rings: RingUse::all(&timeline, window),
            stages,
            window,
            timeline,
        }
    }

    /// Returns the stretch of time that was looked at.
    pub fn window(&self) -> Window {
        self.window
    }

    /// Returns the ledger as spans.
    pub fn timeline(&self) -> &Timeline {
        &self.timeline
    }
}

/// Divides the time of the steps into the parts that were measured, and the rest.
fn parts(steps: &[StepTime]) -> Vec<Part> {
    let whole: f64 = steps.iter().map(|step| step.wall_s).sum();
    let part = |name: &'static str, times: Vec<f64>| {
        let sum: f64 = times.iter().sum();
        Part {
            part: name,
            times: Spread::of(&times),
            share_pct: if whole > 0.0 {
                100.0 * sum / whole
            } else {
                0.0
            },
        }
    };
    let known =
        |of: fn(&StepTime) -> Option<f64>| -> Option<Vec<f64>> { steps.iter().map(of).collect() };
    let mut parts = vec![part(
        "data wait",
        steps.iter().map(|step| step.data_wait_s).collect(),
    )];
    let read_back = known(|step| step.read_back_s);
    let collective = known(|step| step.collective_s);
    let rest = steps.iter().map(|step| {
        let known =
            step.data_wait_s + step.read_back_s.unwrap_or(0.0) + step.collective_s.unwrap_or(0.0);
        (step.wall_s - known).max(0.0)
    });
    let rest = part("compute and launch", rest.collect());
    parts.extend(read_back.map(|times| part("read-back", times)));
    parts.extend(collective.map(|times| part("averaging", times)));
    parts.push(rest);
    if steps.is_empty() {
        parts.clear();
    }
    parts
}
