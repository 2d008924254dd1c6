//! The learning rate by step: a pure function, so that resuming needs no state.
//!
//! Every shape is preceded by a linear warm-up that starts above zero (a step at
//! rate zero would be wasted) and meets the shape at step `warmup`: the rate
//! there is the base rate.

mod shape;
#[cfg(test)]
mod tests;

use myxtts_base::report;
use serde::{Deserialize, Serialize};

pub use shape::Shape;

use crate::units::Step;

/// A learning-rate schedule that was checked when it was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Parts", into = "Parts")]
pub struct LrSchedule {
    parts: Parts,
}

/// The settings of a schedule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parts {
    /// The rate at the end of the warm-up, which is the highest.
    pub base: f64,
    /// Steps of linear warm-up; 0 means none.
    pub warmup: Step,
    /// How the rate changes after the warm-up.
    pub shape: Shape,
}

impl LrSchedule {
    /// Makes a schedule of `parts`.
    ///
    /// # Errors
    /// When a rate is negative or not finite, or the steps are out of order.
    pub fn new(parts: Parts) -> Result<Self, LrScheduleError> {
        let Parts {
            base,
            warmup,
            shape,
        } = &parts;
        if !(base.is_finite() && *base >= 0.0) {
            return Err(LrScheduleError::Base { base: *base });
        }
        shape.check(*base, *warmup)?;
        Ok(Self { parts })
    }

    /// Returns the rate of the step that follows `step` finished ones.
    pub fn lr(&self, step: Step) -> f64 {
        let Parts {
            base,
            warmup,
            shape,
        } = &self.parts;
        if step < *warmup {
            return base * fraction(step.0.saturating_add(1), warmup.0.saturating_add(1));
        }
        shape.after_warmup(*base, *warmup, step)
    }
}

impl TryFrom<Parts> for LrSchedule {
    type Error = LrScheduleError;

    fn try_from(parts: Parts) -> Result<Self, LrScheduleError> {
        Self::new(parts)
    }
}

impl From<LrSchedule> for Parts {
    fn from(schedule: LrSchedule) -> Self {
        schedule.parts
    }
}

/// Computes `part / whole`; step counts are far below where `f64` loses integers.
fn fraction(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}

/// Why the settings do not make a schedule.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum LrScheduleError {
    /// The base rate is negative or not finite.
    #[error("the learning rate is {base}; it must be a finite number, zero or above")]
    Base {
        /// The rate that was given.
        base: f64,
    },
    /// The floor is not between zero and the base rate.
    #[error("the cosine floor is {floor}; it must lie between 0 and the learning rate {base}")]
    Floor {
        /// The floor that was given.
        floor: f64,
        /// The base rate it was compared with.
        base: f64,
    },
    /// The cosine ends within the warm-up.
    #[error(
        "{}",
        report!(
            "the cosine ends at step {total}, within the {warmup} steps of warm-up";
            fix: "shorten the warm-up or train longer"
        )
    )]
    Total {
        /// The step at which the cosine would end.
        total: Step,
        /// The number of warm-up steps.
        warmup: Step,
    },
    /// Gamma would raise the rate or make it negative.
    #[error("gamma is {gamma}; it must be above 0 and at most 1")]
    Gamma {
        /// The gamma that was given.
        gamma: f64,
    },
    /// Milestones out of order or within the warm-up.
    #[error(
        "{}",
        report!(
            "milestone {milestone} does not come after {after}";
            fix: "let milestones increase, and start after the warm-up"
        )
    )]
    Milestone {
        /// The milestone that is out of place.
        milestone: Step,
        /// The step it must come after.
        after: Step,
    },
}
