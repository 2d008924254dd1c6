//! Losses far above what they were.

use std::collections::VecDeque;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::exact::Exact;
use crate::units::Step;

/// When a loss counts as a spike, and what then.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SpikeSettings {
    /// Losses looked back on.
    pub window: usize,
    /// Standard deviations above their mean.
    #[serde(with = "crate::exact")]
    pub threshold: f64,
    /// What to do.
    pub action: SpikeAction,
}

/// What to do about a spike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SpikeAction {
    /// Say so and apply the step.
    Log,
    /// Say so and leave the step out.
    Skip,
}

/// Watches the loss. Every finite loss enters the window, spikes too: after a
/// lasting change of level the new one becomes normal, and a run that skips
/// spikes does not skip for ever.
///
/// The window itself is kept and summed anew each time, not running sums: a
/// few hundred additions, and nothing that drifts or depends on when the run
/// was resumed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SpikeDetector {
    settings: SpikeSettings,
    window: VecDeque<Exact>,
    seen: u64,
}

/// A loss far above those before it.
#[derive(Clone, Debug, PartialEq)]
pub struct Spike {
    /// Where.
    pub step: Step,
    /// The loss.
    pub loss: f64,
    /// Mean of the window before it.
    pub mean: f64,
    /// Standard deviations above that mean; infinite when the window is flat.
    pub z: f64,
    /// What to do.
    pub action: SpikeAction,
}

impl SpikeDetector {
    /// Watches from the first full window on.
    pub fn new(settings: SpikeSettings) -> Self {
        Self {
            settings,
            window: VecDeque::new(),
            seen: 0,
        }
    }

    /// With this one's settings, and all that `earlier` has seen.
    #[must_use]
    pub fn resumed(self, earlier: Self) -> Self {
        Self {
            settings: self.settings,
            ..earlier
        }
    }

    /// Forgets the losses: those to come are of another kind.
    pub fn forget(&mut self) {
        self.window.clear();
    }

    /// Spikes since the run began.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// Looks at a loss. One that is not finite is [`super::NonFinite`]'s
    /// business, and passes.
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
        // A flat window: zero over zero is no spike, anything over zero is one.
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
            SpikeAction::Log => "applied all the same",
            SpikeAction::Skip => "left out",
        };
        write!(
            f,
            "loss spike at step {step}: {loss:.4}, {z:.1} standard deviations above the recent mean {mean:.4}; {done}"
        )
    }
}
