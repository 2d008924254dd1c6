//! How evenly steps follow each other.
//!
//! A batch of longer clips takes longer, and that is not a stall: what the work
//! in a step explains of its time is taken out before anything is compared.

use std::fmt;

use myxtts_doctor::stats;
use serde::Serialize;

use crate::profile::StepTime;

/// The fewest steps that can show a period: each lag is seen at least twice.
const LEAST_STEPS: usize = 8;
/// The longest period that is looked for, in steps.
const LONGEST: usize = 19;
/// A repetition weaker than this is not reported.
const STRENGTH: f64 = 0.3;
/// Nor is one that chance would make in so few steps: the autocorrelation of noise
/// deviates by one over the root of their number, and many lags are looked at.
const BY_CHANCE: f64 = 3.5;
/// Steps that vary by less than this part of their mean have no slow ones.
const NOTHING: f64 = 0.02;
/// Above the first variation steps are uneven, above the second very uneven.
const UNEVEN: [f64; 2] = [0.3, 0.5];

/// How evenly steps follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Oscillation {
    /// The standard deviation of the step time over its mean, as measured.
    pub variation: f64,
    /// The same without what the work of the steps explains.
    pub unexplained: f64,
    /// The number of steps from one slow step to the next, where there is such a period.
    pub period: Option<usize>,
    /// The autocorrelation at that period, up to 1.
    pub strength: Option<f64>,
}

impl Oscillation {
    /// Measures steps in their order; returns `None` for fewer than eight.
    pub(crate) fn of(steps: &[StepTime]) -> Option<Self> {
        if steps.len() < LEAST_STEPS {
            return None;
        }
        let times: Vec<f64> = steps.iter().map(|step| step.wall_s).collect();
        let work: Vec<f64> = steps.iter().map(|step| step.work).collect();
        let even = stats::without_work(&times, &work);
        let longest = LONGEST.min(times.len() / 2);
        let period = stats::period(&even, 2..=longest);
        let unexplained = stats::variation(&even)?;
        let least = STRENGTH.max(BY_CHANCE / (times.len() as f64).sqrt());
        let period = period.filter(|(_, strength)| *strength > least && unexplained > NOTHING);
        Some(Self {
            variation: stats::variation(&times)?,
            unexplained,
            period: period.map(|(lag, _)| lag),
            strength: period.map(|(_, strength)| strength),
        })
    }
}

impl fmt::Display for Oscillation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [uneven, much] = UNEVEN;
        let words = match self.unexplained {
            v if v > much => "very uneven",
            v if v > uneven => "uneven",
            _ => "even",
        };
        write!(
            f,
            "Steps are {words}: the step time varies by {:.2} of its mean, {:.2} once the clips \
             in each step are accounted for",
            self.variation, self.unexplained
        )?;
        match (self.period, self.strength) {
            (Some(period), Some(strength)) => writeln!(
                f,
                "; every {period} steps one is slow (autocorrelation {strength:.2})."
            ),
            _ => writeln!(f, "; no period of 2 to {LONGEST} steps."),
        }
    }
}
