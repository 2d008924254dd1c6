//! Losses far above the recent ones.

use std::collections::VecDeque;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::exact_float::Exact;
use crate::units::Step;

/// When a loss counts as a spike, and what to do about it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SpikeSettings {
    /// How many of the latest losses a new one is compared with.
    pub window: usize,
    /// How many standard deviations above their mean a spike is.
    #[serde(with = "crate::exact_float")]
    pub threshold: f64,
    /// What to do about a spike.
    pub action: SpikeAction,
}

/// What to do about a spike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SpikeAction {
    /// Report it and apply the step.
    Log,
    /// Report it and leave the step out.
    Skip,
}

/// Watches the loss for spikes. Every finite loss enters the window, spikes too:
/// after a lasting change of level the new one becomes normal, and a run that
/// skips spikes does not skip for ever.
///
/// The window itself is kept and summed again each time, not running sums: that
/// is a few hundred additions, and nothing drifts or depends on when the run was resumed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SpikeDetector {
    settings: SpikeSettings,
    window: VecDeque<Exact>,
    seen: u64,
}

/// A loss far above those before it.
#[derive(Clone, Debug, PartialEq)]
pub struct Spike {
    /// The step of the spike.
    pub step: Step,
    /// The loss at that step.
    pub loss: f64,
    /// The mean of the window before it.
    pub mean: f64,
    /// Standard deviations above that mean; infinite when the window is flat.
    pub z: f64,
    /// What to do about it, from the settings.
    pub action: SpikeAction,
}

impl SpikeDetector {
    /// Makes a detector that judges losses once its window is full.
    pub fn new(settings: SpikeSettings) -> Self {
        Self {
            settings,
            window: VecDeque::new(),
            seen: 0,
        }
    }

    /// Keeps this detector's settings and takes over what `earlier` has seen.
    #[must_use]
    pub fn resumed(self, earlier: Self) -> Self {
        Self {
            settings: self.settings,
            ..earlier
        }
    }

    /// Whether steps with a spike are left out.
    pub fn skips(&self) -> bool {
        self.settings.action == SpikeAction::Skip
    }

    /// Forgets the losses seen, because those to come are of another kind.
    pub fn forget(&mut self) {
        self.window.clear();
    }

    /// Returns the number of spikes since the run began.
    #[cfg(test)]
    pub(super) fn seen(&self) -> u64 {
        self.seen
    }

    /// Looks at a loss, and returns it when it is a spike. A loss that is not
    /// finite is left to [`super::NonFinite`].
    pub fn observe(&mut self, step: Step, loss: f64) -> Option<Spike> {
        if !loss.is_finite() {
            return None;
        }
        let full = self.window.len() >= self.settings.window.max(2);
        let spike = if full { self.judge(step, loss) } else { None };
        if full {
            self.window.pop_front();
        }
        self.window.push_back(Exact(loss));
        self.seen += u64::from(spike.is_some());
        spike
    }

    fn judge(&self, step: Step, loss: f64) -> Option<Spike> {
        let count = self.window.len() as f64;
        let losses = || self.window.iter().map(|loss| loss.0);
        let mean = losses().sum::<f64>() / count;
        let variance = losses().map(|loss| (loss - mean).powi(2)).sum::<f64>() / count;
        let above = loss - mean;
        // In a flat window zero over zero is not a spike, and anything else over
        // zero is one.
        let z = if above == 0.0 {
            0.0
        } else {
            above / variance.sqrt()
        };
        let SpikeSettings {
            threshold, action, ..
        } = self.settings;
        (z > threshold).then_some(Spike {
            step,
            loss,
            mean,
            z,
            action,
        })
    }
}

impl fmt::Display for Spike {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            step,
            loss,
            mean,
            z,
            action,
        } = self;
        let done = match action {
            SpikeAction::Log => "applied anyway",
            SpikeAction::Skip => "left out",
        };
        write!(
            f,
            "loss spike at step {step}: {loss:.4}, {z:.1} standard deviations above the recent mean {mean:.4}; {done}"
        )
    }
}
