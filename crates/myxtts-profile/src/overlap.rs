//! How much of the work was done beside other work.
//!
//! One after another, a batch takes the sum of its stages. With everything at
//! once it takes what the slowest stage needs, and no ring or worker can do
//! better. What was measured lies between the two. Stages that share the cores
//! of one processor slow each other down, and their times show it: what is
//! possible is then what those slower times allow.

use serde::Serialize;

use crate::stages::StageTimes;

/// The overlap of the stages, in seconds per batch of one lane.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Overlap {
    /// The time of all stages one after another.
    pub one_after_another_s: f64,
    /// The time of the slowest stage alone.
    pub at_best_s: f64,
    /// The time that a batch took.
    pub measured_s: f64,
    /// How much of the possible saving was achieved, in percent; absent where
    /// there is next to nothing to save.
    pub achieved_pct: Option<f64>,
}

/// A possible saving below this part of the work is not worth a figure.
const WORTH: f64 = 0.01;

impl Overlap {
    /// Computes the overlap where each of `lanes` used up `batches` in `wall_s`.
    pub(crate) fn of(stages: &[StageTimes], wall_s: f64, batches: usize, lanes: usize) -> Self {
        let lanes = lanes.max(1) as f64;
        let one_after_another_s: f64 = stages.iter().map(|stage| stage.busy.mean_s).sum();
        // Lanes ask for a batch each at the same time.
        let slowest = stages.iter().map(|stage| stage.least_s() * lanes);
        let at_best_s = slowest.fold(0.0, f64::max);
        let measured_s = wall_s / batches.max(1) as f64;
        let possible = one_after_another_s - at_best_s;
        let achieved = (one_after_another_s - measured_s) / possible;
        let is_worth = possible > WORTH * one_after_another_s;
        Self {
            one_after_another_s,
            at_best_s,
            measured_s,
            achieved_pct: is_worth.then(|| (100.0 * achieved).clamp(0.0, 100.0)),
        }
    }
}
