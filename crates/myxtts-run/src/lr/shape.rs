//! How the learning rate changes after the warm-up.

use std::f64::consts::PI;

use serde::{Deserialize, Serialize};

use super::{LrScheduleError, fraction};
use crate::units::Step;

/// The part of a schedule that follows the warm-up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Shape {
    /// The base rate throughout.
    Constant,
    /// Half a cosine wave from the base rate down to `floor`, then `floor`.
    Cosine {
        /// The step at which the floor is reached.
        total: Step,
        /// The lowest rate, kept from `total` on.
        floor: f64,
    },
    /// Falls with the inverse square root of the step.
    Noam,
    /// The rate is multiplied by `gamma` at each milestone.
    MultiStep {
        /// Steps in ascending order, all after the warm-up.
        milestones: Vec<Step>,
        /// The factor, above 0 and at most 1.
        gamma: f64,
    },
}

impl Shape {
    pub(super) fn check(&self, base: f64, warmup: Step) -> Result<(), LrScheduleError> {
        match self {
            Self::Constant | Self::Noam => Ok(()),
            Self::Cosine { total, floor } => {
                if !(0.0..=base).contains(floor) {
                    return Err(LrScheduleError::Floor {
                        floor: *floor,
                        base,
                    });
                }
                if *total <= warmup {
                    return Err(LrScheduleError::Total {
                        total: *total,
                        warmup,
                    });
                }
                Ok(())
            }
            Self::MultiStep { milestones, gamma } => {
                if !(*gamma > 0.0 && *gamma <= 1.0) {
                    return Err(LrScheduleError::Gamma { gamma: *gamma });
                }
                let mut after = warmup;
                for &milestone in milestones {
                    if milestone <= after {
                        return Err(LrScheduleError::Milestone { milestone, after });
                    }
                    after = milestone;
                }
                Ok(())
            }
        }
    }

    /// Returns the rate at `step`, which is not below `warmup`.
    pub(super) fn after_warmup(&self, base: f64, warmup: Step, step: Step) -> f64 {
        match self {
            Self::Constant => base,
            Self::Cosine { total, floor } => {
                let done = fraction(
                    step.0.saturating_sub(warmup.0),
                    total.0.saturating_sub(warmup.0).max(1),
                );
                let height = 0.5 * (1.0 + (PI * done.min(1.0)).cos());
                floor + (base - floor) * height
            }
            Self::Noam => {
                base * fraction(warmup.0.saturating_add(1), step.0.saturating_add(1)).sqrt()
            }
            Self::MultiStep { milestones, gamma } => {
                let passed = milestones.partition_point(|milestone| *milestone <= step);
                base * gamma.powi(i32::try_from(passed).unwrap_or(i32::MAX))
            }
        }
    }
}
