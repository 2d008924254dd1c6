//! What somebody who runs a preparation or a training may watch of it.
//!
//! The files of a run are written whoever watches. Nothing here and below writes to a terminal:
//! a program that wants lines there implements [`Observer`], and one that wants none takes
//! [`Silent`].

use std::path::Path;
use std::time::Duration;

use crate::progress::Numbers;
use crate::units::Step;

/// Watches a preparation or a training.
///
/// Every method does nothing unless it is implemented. They are called from several threads, and
/// the caller waits for them, so they should return soon.
pub trait Observer: Send + Sync {
    /// Takes a message for people: one line or several, without the last line break. A training
    /// has written it to `train.log` as well.
    fn line(&self, message: &str) {
        let _ = message;
    }

    /// Takes how far the preparation of a dataset is, after every recording.
    fn preparing(&self, preparing: &Preparing) {
        let _ = preparing;
    }

    /// Takes how far a training is, after every step.
    fn progress(&self, numbers: &Numbers) {
        let _ = numbers;
    }

    /// Takes the end of what reported its progress: of a preparation, or of a stage of a
    /// training.
    fn progress_ended(&self) {}

    /// Takes what a step of a training measured, once it is in `metrics.jsonl`.
    fn step(&self, metrics: &StepMetrics<'_>) {
        let _ = metrics;
    }

    /// Takes the recording of a sample that the run has rendered and written.
    fn sample(&self, step: Step, file: &Path) {
        let _ = (step, file);
    }
}

/// An observer that ignores everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Silent;

impl Observer for Silent {}

/// How far the preparation of a dataset is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Preparing {
    /// Recordings read so far.
    pub done: u64,
    /// About how many recordings there are.
    pub about: u64,
    /// How many of those that were read cannot be used.
    pub quarantined: u64,
    /// The time since the preparation began.
    pub elapsed: Duration,
}

/// What a step of a training measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepMetrics<'a> {
    /// The step, counted over all stages of the run.
    pub step: Step,
    /// The name of the stage that took it.
    pub stage: &'static str,
    /// The loss.
    pub loss: f32,
    /// The parts of the loss, by name.
    pub parts: &'a [(&'static str, f32)],
    /// The norm of the gradient before it was clipped.
    pub gradient_norm: f32,
    /// The learning rate.
    pub learning_rate: f64,
    /// Whether the weights stayed as they were, because a number was not finite.
    pub is_skipped: bool,
}
