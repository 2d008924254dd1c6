//! A model of one step: what it would take if a stage took another time.
//!
//! The pipeline's stages work at the same time, so in the long run a step takes as
//! long as the slowest of them: the model's own time, or more where it waits.
//! The measured waiting sets the scale. What the model needs for itself
//! stays; a change of a stage changes the waiting in proportion to how far the
//! slowest stage is behind the model.

use crate::signal::Silent;
use crate::signals::Signals;
use crate::units::{Seconds, Share};

/// One step and what feeds it, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct StepModel {
    /// The whole step, without pauses.
    pub(crate) step: Seconds,
    /// The part of the step spent waiting for data.
    pub(crate) wait: Seconds,
    /// The pace of each stage that feeds the step.
    pub(crate) feed: Feed,
}

/// How many seconds each stage needs for the batches of a step; `None` where that is
/// not known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Feed {
    /// The host stage: its work over its threads.
    pub(crate) host: Option<Seconds>,
    /// The stage on the data device.
    pub(crate) device: Option<Seconds>,
    /// The hop between devices.
    pub(crate) hop: Option<Seconds>,
}

/// A stage that feeds the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FeedStage {
    /// The worker threads of the host.
    Host,
    /// The work on the data device.
    Device,
    /// The hop from the data device to the model devices.
    Hop,
}

impl Feed {
    /// Returns the slowest stage and its pace, if any is known.
    pub(crate) fn slowest(&self) -> Option<(FeedStage, Seconds)> {
        let stages = [
            (FeedStage::Host, self.host),
            (FeedStage::Device, self.device),
            (FeedStage::Hop, self.hop),
        ];
        stages
            .into_iter()
            .filter_map(|(stage, pace)| Some((stage, pace?)))
            .max_by(|(_, left), (_, right)| left.0.total_cmp(&right.0))
    }

    fn pace(&self) -> f64 {
        self.slowest().map_or(0.0, |(_, pace)| pace.0)
    }
}

impl StepModel {
    /// Builds the model from what was measured.
    ///
    /// # Errors
    /// The reason why the step time or the waiting is not known.
    pub(crate) fn of(signals: &Signals) -> Result<Self, Silent> {
        let steps = &signals.steps;
        let stages = &signals.pipeline;
        Ok(Self {
            step: *steps.step.need()?,
            wait: *steps.data_wait.need()?,
            feed: Feed {
                host: stages.host.known().map(|stage| stage.pace()),
                device: stages.device.known().map(|stage| stage.pace()),
                hop: stages.hop.known().map(|stage| stage.pace()),
            },
        })
    }

    /// Returns the part of a step in which the model does not wait for data.
    pub(crate) fn own(&self) -> Seconds {
        Seconds((self.step.0 - self.wait.0).max(0.0))
    }

    /// Returns the share of the step spent waiting.
    pub(crate) fn waiting(&self) -> Share {
        Share::of(self.wait, self.step)
    }

    /// Returns the seconds saved in a step if the feed were `feed` and the model's own
    /// time `own`.
    pub(crate) fn saved(&self, feed: Feed, own: Seconds) -> Seconds {
        let behind = (self.feed.pace() - self.own().0).max(0.0);
        let then = (feed.pace() - own.0).max(0.0);
        let wait = if behind > 0.0 {
            self.wait.0 * then / behind
        } else if self.feed.pace() > 0.0 {
            // The stages keep up on average and the model waits all the same:
            // batches come in bursts, which shrink with the work.
            (self.wait.0 * (feed.pace() / self.feed.pace()).min(1.0)).max(then)
        } else {
            self.wait.0
        };
        Seconds((self.own().0 + self.wait.0) - (own.0 + wait))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(step: f64, wait: f64, host: f64, device: f64) -> StepModel {
        StepModel {
            step: Seconds(step),
            wait: Seconds(wait),
            feed: Feed {
                host: Some(Seconds(host)),
                device: Some(Seconds(device)),
                hop: None,
            },
        }
    }

    fn saved(model: StepModel, host: f64, device: f64, own: f64) -> f64 {
        let feed = Feed {
            host: Some(Seconds(host)),
            device: Some(Seconds(device)),
            hop: None,
        };
        model.saved(feed, Seconds(own)).0
    }

    #[test]
    fn a_faster_stage_saves_only_what_was_waited_for_it() {
        // The model needs 1 s and gets a batch every 10 s.
        let model = model(10.0, 9.0, 10.0, 0.5);
        assert_eq!(model.own(), Seconds(1.0));
        assert_eq!(saved(model, 5.0, 0.5, 1.0), 5.0);
        // The device stage is next.
        assert_eq!(saved(model, 0.1, 4.0, 1.0), 6.0);
        // Faster than the model is of no use.
        assert_eq!(saved(model, 0.1, 0.5, 1.0), 9.0);
    }

    #[test]
    fn a_faster_model_waits_more() {
        let model = model(10.0, 5.0, 10.0, 0.5);
        assert_eq!(saved(model, 10.0, 0.5, 4.0), 0.0);
    }

    #[test]
    fn without_waiting_the_model_sets_the_pace() {
        let model = model(2.0, 0.0, 1.0, 0.5);
        assert_eq!(saved(model, 1.0, 0.5, 1.5), 0.5);
        assert_eq!(saved(model, 0.5, 0.5, 2.0), 0.0);
    }
}
