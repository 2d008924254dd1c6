//! Whether the model waits for data, and what else costs most.

use serde::{Deserialize, Serialize};

use crate::model::{FeedStage, StepModel};
use crate::signal::Signal;
use crate::signals::Signals;
use crate::units::{Seconds, Share};

/// The share of waiting from which a training is highly input-bound.
pub(crate) const HIGHLY: Share = Share(0.20);
/// The share of waiting from which it is moderately input-bound.
pub(crate) const MODERATELY: Share = Share(0.05);
/// The share of the step from which any other cost is high.
pub(crate) const HIGH_COST: Share = Share(0.15);
/// The share of the step from which any other cost is moderate.
pub(crate) const MODERATE_COST: Share = Share(0.03);

/// How much the model waits for data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum InputBound {
    /// It waits a fifth of the step or more.
    Highly,
    /// It waits a twentieth of the step or more.
    Moderately,
    /// It waits less than that.
    Not,
}

impl InputBound {
    /// Judges by the share of the step that is waiting.
    pub(crate) fn of(waiting: Share) -> Self {
        if waiting >= HIGHLY {
            Self::Highly
        } else if waiting >= MODERATELY {
            Self::Moderately
        } else {
            Self::Not
        }
    }
}

/// A cost that is not waiting for data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CostKind {
    /// Computing on padded positions.
    Padding,
    /// Checkpoints, validation and samples.
    Pauses,
    /// Averaging gradients between replicas.
    Collective,
    /// Uploads and hops between devices.
    Transfer,
    /// Launching kernels while the device could do more.
    KernelLaunch,
    /// Compiling kernels after the warm-up.
    Compiling,
    /// Steps that take longer than the median one.
    Unevenness,
    /// Waiting for the device more than once a step.
    Synchronising,
    /// The training thread's waiting for a core.
    Cores,
    /// Waiting for the slowest replica.
    Straggler,
}

/// A cost and its share of the step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Cost {
    /// The kind of cost.
    pub(crate) kind: CostKind,
    /// Its share of the step.
    pub(crate) share: Share,
}

/// The answer in one word and two numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// Highly, moderately or not input-bound.
    pub(crate) input_bound: Signal<InputBound>,
    /// Share of the step in which the model waited for data.
    pub waiting: Signal<Share>,
    /// The slowest of the stages that feed the model, where the ledger tells.
    pub(crate) slowest_stage: Signal<SlowestStage>,
    /// The largest other cost that was measured, if any.
    pub(crate) largest_cost: Option<Cost>,
}

/// A stage that feeds the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SlowestStage {
    /// The worker threads of the host.
    Host,
    /// The work on the data device.
    Device,
    /// The hop from the data device to the model devices.
    Hop,
}

impl From<FeedStage> for SlowestStage {
    fn from(stage: FeedStage) -> Self {
        match stage {
            FeedStage::Host => Self::Host,
            FeedStage::Device => Self::Device,
            FeedStage::Hop => Self::Hop,
        }
    }
}

impl Verdict {
    /// Judges what was measured.
    pub(crate) fn of(signals: &Signals) -> Self {
        let waiting = match StepModel::of(signals) {
            Ok(model) => Signal::Known(model.waiting()),
            Err(silent) => Signal::unavailable(silent.0),
        };
        let slowest = StepModel::of(signals)
            .ok()
            .and_then(|model| model.feed.slowest())
            .map(|(stage, _)| stage.into());
        Self {
            input_bound: waiting.clone().map(InputBound::of),
            waiting,
            slowest_stage: Signal::from_option(slowest, "the stall ledger has no stages yet"),
            largest_cost: largest(signals),
        }
    }
}

/// What the costs of a step are measured against.
struct Costs<'a> {
    signals: &'a Signals,
    /// The whole step.
    step: Seconds,
    /// The step without its waiting for data.
    own: Seconds,
}

impl<'a> Costs<'a> {
    fn of(signals: &'a Signals) -> Option<Self> {
        let step = *signals.steps.step.known()?;
        Some(Self {
            signals,
            step,
            own: StepModel::of(signals).map_or(step, |model| model.own()),
        })
    }

    /// Returns every cost, where it is known, as a share of the step.
    fn all(&self) -> [(CostKind, Option<Share>); 10] {
        let steps = &self.signals.steps;
        let padding = steps.padding.known();
        let padding = padding.map(|padding| Share(padding.0 * self.share(self.own).0));
        let unevenness = steps.oscillation.known();
        let unevenness = unevenness.map(|found| self.share(found.excess));
        let cores = steps.core_wait.known().copied();
        let cores = cores.map(|waiting| self.share(waiting));
        [
            (CostKind::Padding, padding),
            (CostKind::Pauses, self.pauses()),
            (CostKind::Collective, self.collective()),
            (CostKind::Transfer, self.transfer()),
            (CostKind::KernelLaunch, self.launch()),
            (CostKind::Compiling, self.compiling()),
            (CostKind::Unevenness, unevenness),
            (CostKind::Synchronising, self.synchronising()),
            (CostKind::Cores, cores),
            (CostKind::Straggler, self.straggler()),
        ]
    }

    fn share(&self, seconds: Seconds) -> Share {
        Share::of(seconds, self.step)
    }

    /// Returns the share of the pauses in a step that has them.
    fn pauses(&self) -> Option<Share> {
        let total = self.signals.steps.pauses.known()?.total();
        Some(Share::of(total, Seconds(self.step.0 + total.0)))
    }

    fn transfer(&self) -> Option<Share> {
        let pipeline = &self.signals.pipeline;
        match (pipeline.upload.known(), pipeline.hop.known()) {
            (None, None) => None,
            (upload, hop) => {
                let upload = upload.map_or(0.0, |upload| upload.0);
                let hop = hop.map_or(0.0, |hop| hop.pace().0);
                Some(self.share(Seconds(upload + hop)))
            }
        }
    }

    fn launch(&self) -> Option<Share> {
        let device = self.signals.model_device();
        let device_busy = device.and_then(|device| device.busy.known());
        match (self.signals.steps.dispatch.known(), device_busy) {
            // The thread does nothing else, and the device could do more.
            (Some(dispatch), Some(busy)) if self.share(*dispatch).0 >= 0.95 => {
                Some(Share((1.0 - busy.0).max(0.0)))
            }
            _ => None,
        }
    }

    fn compiling(&self) -> Option<Share> {
        let steps = &self.signals.steps;
        steps.recompiles.known().map(|found| match found.extra {
            Some(extra) => {
                let all = extra.0 * found.steps as f64;
                self.share(Seconds(all / steps.measured.max(1) as f64))
            }
            // Every step compiles: it costs at most all of the model's own time.
            None if found.steps > 0 => self.share(self.own),
            None => Share(0.0),
        })
    }

    fn synchronising(&self) -> Option<Share> {
        let steps = &self.signals.steps;
        match (steps.syncs.known(), steps.read_back.known()) {
            (Some(syncs), Some(read_back)) if *syncs > 1.0 => Some(self.share(
                crate::rules::lost_by_waiting(self.signals, *syncs, *read_back),
            )),
            _ => None,
        }
    }

    fn straggler(&self) -> Option<Share> {
        let replicas = self.signals.steps.replicas.known()?;
        let times: Vec<f64> = replicas.iter().map(|replica| replica.step.0).collect();
        let slowest = times.iter().copied().fold(0.0, f64::max);
        let fastest = crate::stats::percentile(&times, 0.0)?;
        Some(self.share(Seconds(slowest - fastest)))
    }

    /// Returns the cost of averaging without what it makes a fast replica wait for the
    /// slow one.
    fn collective(&self) -> Option<Share> {
        let collective = self.signals.steps.collective.known()?;
        let waiting = self.straggler().map_or(0.0, |lost| lost.0);
        Some(Share((self.share(*collective).0 - waiting).max(0.0)))
    }
}

fn largest(signals: &Signals) -> Option<Cost> {
    let costs = Costs::of(signals)?.all();
    costs
        .into_iter()
        .filter_map(|(kind, share)| {
            Some(Cost {
                kind,
                share: share?,
            })
        })
        .filter(|cost| cost.share.0 > 0.0)
        .max_by(|left, right| left.share.0.total_cmp(&right.share.0))
}
