//! Losses and gradients that are NaN or infinite.

use std::fmt;

use myxtts_base::report;
use serde::{Deserialize, Serialize};

use crate::units::Step;

/// Skips steps whose loss or gradient is NaN or infinite, and gives up when too
/// many follow each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NonFinite {
    limit: usize,
    skipped: u64,
    /// The bad steps since the last good one, at most `limit + 1` of them.
    streak: Vec<BadStep>,
}

/// A step that was skipped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BadStep {
    /// The step that was skipped.
    pub step: Step,
    /// The loss of that step.
    #[serde(with = "crate::exact_float")]
    pub loss: f32,
    /// The norm of its gradient.
    #[serde(with = "crate::exact_float")]
    pub gradient_norm: f32,
    /// The clips it was computed from.
    pub clips: Vec<String>,
}

/// What to do with a step.
#[derive(Clone, Debug, PartialEq)]
pub enum NonFiniteVerdict {
    /// Apply the step to the weights.
    Apply,
    /// Leave the weights as they are.
    Skip {
        /// Bad steps in a row, this one included.
        streak: usize,
    },
    /// End the run: too many bad steps followed each other.
    Stop(TooManyBadSteps),
}

impl NonFinite {
    /// Makes a guard that skips up to `limit` bad steps in a row; one more ends the run.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            skipped: 0,
            streak: Vec::new(),
        }
    }

    /// Keeps this guard's limit and takes over what `earlier` has seen.
    #[must_use]
    pub fn resumed(self, earlier: Self) -> Self {
        Self {
            limit: self.limit,
            ..earlier
        }
    }

    /// Whether one more bad step ends the run.
    pub fn is_at_its_limit(&self) -> bool {
        self.streak.len() >= self.limit
    }

    /// Returns how many steps were skipped since the run began.
    #[cfg(test)]
    pub(super) fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Judges a step; `clips` is called only when the step is bad.
    pub fn judge(
        &mut self,
        step: Step,
        loss: f32,
        gradient_norm: f32,
        clips: impl FnOnce() -> Vec<String>,
    ) -> NonFiniteVerdict {
        if loss.is_finite() && gradient_norm.is_finite() {
            self.streak.clear();
            return NonFiniteVerdict::Apply;
        }
        self.skipped += 1;
        self.streak.push(BadStep {
            step,
            loss,
            gradient_norm,
            clips: clips(),
        });
        if self.streak.len() > self.limit {
            // Emptied, so that a caller who continues after all starts over.
            return NonFiniteVerdict::Stop(TooManyBadSteps(std::mem::take(&mut self.streak)));
        }
        NonFiniteVerdict::Skip {
            streak: self.streak.len(),
        }
    }
}

/// The bad steps in a row that ended the run.
#[derive(Clone, Debug, PartialEq)]
pub struct TooManyBadSteps(pub Vec<BadStep>);

/// How many clips are named per step; a batch may hold hundreds.
const CLIPS_NAMED: usize = 8;

impl std::error::Error for TooManyBadSteps {}

impl fmt::Display for TooManyBadSteps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let steps: Vec<String> = self.0.iter().map(BadStep::to_string).collect();
        let report = report!(
            "{} steps in a row had a loss or gradient that is not a finite number", steps.len();
            found: "{}", steps.join("\n");
            fix: "lower --lr, lengthen the warm-up or use --precision f32; if the same clips come \
                  up again, listen to them\nthe last checkpoint is older than these steps"
        );
        report.fmt(f)
    }
}

impl fmt::Display for BadStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            step,
            loss,
            gradient_norm,
            clips,
        } = self;
        let named: Vec<_> = clips.iter().take(CLIPS_NAMED).map(String::as_str).collect();
        let named = match named.is_empty() {
            true => "not known".to_owned(),
            false => named.join(", "),
        };
        write!(
            f,
            "step {step}: loss {loss}, gradient norm {gradient_norm}; clips {named}"
        )?;
        match clips.len().checked_sub(CLIPS_NAMED) {
            None | Some(0) => Ok(()),
            Some(more) => write!(f, " and {more} more"),
        }
    }
}
