//! What a probe is asked to measure.

use std::time::Duration;

use crate::faults::Faults;
use crate::stage::warm_up::Listener;

/// Where a step's batches come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchSource {
    /// From the pipeline, as in a training.
    Live,
    /// All are made before the first step, and wait on the model's devices. This shows how long a
    /// step takes when data costs nothing. There are as many as a gigabyte holds.
    Cached,
}

/// Where the codes of clips come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeCodes {
    /// As in all epochs of a run but its first: kept where `data.cache` keeps them, or made by
    /// the DVAE if that is `none`. What is kept are random numbers, on which a step takes just as
    /// long.
    AsLater,
    /// The DVAE makes them in every batch, as in a first epoch.
    Made,
    /// An epoch before the measured steps makes them and keeps them in memory.
    AfterAnEpoch,
}

/// What to find out about the kernels that the measured steps launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaunchesAsked {
    /// Nothing is recorded about them.
    No,
    /// How many there are; the steps take no longer.
    Counted,
    /// How long each takes; nothing overlaps any more, so the steps take longer.
    Timed,
}

/// What to measure, and for how long.
#[derive(Clone, Debug)]
pub struct ProbeRequest {
    /// The fewest steps before the measured ones. The batches that wait when the model starts are
    /// taken first as well, because they say nothing about the data side.
    pub warm_up_steps: u64,
    /// The most steps to measure.
    pub steps: u64,
    /// The longest time from the first step on, warm-up included; the probe ends with whichever
    /// limit comes first.
    pub at_most: Duration,
    /// The step of the stage at which the warm-up begins.
    pub begin_at: u64,
    /// Where batches come from.
    pub keep: BatchSource,
    /// Where codes come from.
    pub codes: ProbeCodes,
    /// Whether the warm-up of a GPU takes rounds until it compiles nothing new. A probe that only
    /// asks whether memory suffices has seen the worst after the first round.
    pub settles: bool,
    /// What to find out about the kernels of a GPU.
    pub launches: LaunchesAsked,
    /// Receives progress: every shape of the warm-up, every step.
    pub listener: Listener,
    /// The faults to inject.
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
