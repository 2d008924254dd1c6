//! Learning rate by step: a pure function, so that resuming needs no state.
//!
//! Every shape is reached over a linear warm-up that starts above zero (a step
//! at rate zero would be a wasted one) and meets the shape at step `warmup`:
//! the rate there is the base rate.

mod shape;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub use shape::Shape;

use crate::units::Step;

/// A learning-rate schedule, checked when made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Parts", into = "Parts")]
pub struct Schedule {
    parts: Parts,
}

/// What a schedule is made of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parts {
    /// The rate at the end of the warm-up, the highest of all.
    pub base: f64,
    /// Steps of linear warm-up; 0 for none.
    pub warmup: Step,
    /// What follows the warm-up.
    pub shape: Shape,
}

impl Schedule {
    /// A schedule of `parts`.
    ///
    /// # Errors
    /// When a rate is negative or not finite, or the steps are out of order.
    pub fn new(parts: Parts) -> Result<Self, ScheduleError> {
        let Parts {
            base,
            warmup,
            shape,
        } = &parts;
        if !(base.is_finite() && *base >= 0.0) {
            return Err(ScheduleError::Base { base: *base });
        }
        shape.check(*base, *warmup)?;
        Ok(Self { parts })
    }

    /// The rate of the step that follows `step` finished ones.
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

impl TryFrom<Parts> for Schedule {
    type Error = ScheduleError;

    fn try_from(parts: Parts) -> Result<Self, ScheduleError> {
        Self::new(parts)
    }
}

impl From<Schedule> for Parts {
    fn from(schedule: Schedule) -> Self {
        schedule.parts
    }
}

/// `part / whole`; counts of steps are far below where `f64` loses integers.
fn fraction(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}

/// Why a schedule cannot be.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ScheduleError {
    /// The base rate is negative or not finite.
    #[error("the learning rate is {base}; it must be a finite number, zero or above")]
    Base {
        /// What was given.
        base: f64,
    },
    /// The floor is not between zero and the base rate.
    #[error("the cosine floor is {floor}; it must lie between 0 and the learning rate {base}")]
    Floor {
        /// What was given.
        floor: f64,
        /// The base rate.
        base: f64,
    },
    /// The cosine ends before it starts.
    #[error(
        "the cosine ends at step {total}, within the {warmup} steps of warm-up; \
         shorten the warm-up or train longer"
    )]
    Total {
        /// The last step.
        total: Step,
        /// The warm-up.
        warmup: Step,
    },
    /// A gamma that does not lower the rate, or makes it negative.
    #[error("gamma is {gamma}; it must be above 0 and at most 1")]
    Gamma {
        /// What was given.
        gamma: f64,
    },
    /// Milestones out of order or within the warm-up.
    #[error(
        "milestone {milestone} does not come after {after}; milestones must rise, \
         and start after the warm-up"
    )]
    Milestone {
        /// The one out of place.
        milestone: Step,
        /// What it must come after.
        after: Step,
    },
}
