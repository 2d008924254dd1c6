//! What a probe is asked to measure.

use std::time::Duration;

use crate::faults::Faults;
use crate::stage::warm_up::Listener;

/// Where a step's batches come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchSource {
    /// From the pipeline, as in a training.
    Live,
    /// All are made before the first step, and wait on the model's devices:
    /// what a step takes when data costs nothing. As many as a gigabyte holds.
    Cached,
}

/// Where the codes of clips come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeCodes {
    /// As in all epochs of a run but its first: kept where `data.cache` keeps
    /// them, and made by the DVAE where that is `none`. What is kept are
    /// numbers drawn by clip and place; a step takes as long on those.
    AsLater,
    /// The DVAE makes them in every batch, as in a first epoch.
    Made,
    /// An epoch before the measured steps makes them and keeps them in memory.
    AfterAnEpoch,
}

/// What is to be known of the kernels that the measured steps launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaunchesAsked {
    /// Nothing.
    No,
    /// How many; the steps take no longer.
    Counted,
    /// How long each takes; nothing overlaps any more, and the steps take longer.
    Timed,
}

/// What to measure.
#[derive(Clone, Debug)]
pub struct ProbeRequest {
    /// Steps before the measured ones, at least: as many batches as wait when
    /// the model starts are taken first, which say nothing of the data side.
    pub warm_up_steps: u64,
    /// Steps to measure.
    pub steps: u64,
    /// From the first step on, the warm-up's included; whatever is first ends it.
    pub at_most: Duration,
    /// The step of the stage that the warm-up begins with.
    pub begin_at: u64,
    /// Where batches come from.
    pub keep: BatchSource,
    /// Where codes come from.
    pub codes: ProbeCodes,
    /// Whether the warm-up of a GPU takes rounds until it compiles nothing new. What
    /// is only to fit its memory has met the worst after the first.
    pub settles: bool,
    /// What is to be known of the kernels of a GPU.
    pub launches: LaunchesAsked,
    /// Told how far it is: every shape of the warm-up, every step.
    pub listener: Listener,
    /// What is to go wrong.
    #[doc(hidden)]
    pub faults: Faults,
}

impl Default for ProbeRequest {
    fn default() -> Self {
        Self {
            warm_up_steps: 2,
            steps: 20,
            at_most: Duration::from_secs(60),
            begin_at: 0,
            keep: BatchSource::Live,
            codes: ProbeCodes::AsLater,
            settles: true,
            launches: LaunchesAsked::No,
            listener: Listener::default(),
            faults: Faults::default(),
        }
    }
}
