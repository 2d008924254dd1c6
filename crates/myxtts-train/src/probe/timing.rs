//! Where the time of a step went.

use std::time::Duration;

use myxtts_audio::units::{SampleRate, Seconds};

use crate::train_loop::StepDone;

/// One step, measured: what a line of `metrics.jsonl` says of its time.
#[derive(Clone, Debug, PartialEq)]
pub struct StepTiming {
    /// Its number in the stage, from 1.
    pub number: u64,
    /// From the end of the step before, without pauses; `step_s`.
    pub step: Duration,
    /// The model waited for its batches; `data_wait_s`.
    pub data_wait: Duration,
    /// The training thread waited for the device; `read_back_s`.
    pub read_back: Duration,
    /// How often; `syncs`.
    pub syncs: u64,
    /// Inside the seam between replicas; `collective_s`.
    pub collective: Duration,
    /// Processor time of the training thread, where the system tells; `dispatch_s`.
    pub dispatch: Option<Duration>,
    /// Share of positions that are padding, over all replicas; `padding`.
    pub padding: f64,
    /// Clips, over all replicas; `clips`.
    pub clips: u64,
    /// Sound in them; `audio_s`.
    pub audio: Seconds,
    /// Kernels that were compiled in it, where anything is; `kernels_new`.
    pub kernels_new: Option<u64>,
    /// What each replica worked, by rank; empty where there is one; `replica_step_s`.
    pub replicas: Vec<Duration>,
    /// The pause after it; `validation_s`.
    pub pause: Duration,
}

impl StepTiming {
    /// What the seam took without the wait of the first replica for a slower one.
    pub fn averaging(&self) -> Duration {
        let own = self.replicas.first().copied().unwrap_or_default();
        let slowest = self.replicas.iter().max().copied().unwrap_or_default();
        self.collective.saturating_sub(slowest.saturating_sub(own))
    }

    /// Of a step that took `step` since the end of the one before.
    pub(crate) fn of(done: &StepDone, step: Duration, rate: SampleRate) -> Self {
        let together = &done.together;
        let padded = together.padded.max(1) as f64;
        Self {
            number: done.step,
            step,
            data_wait: done.waited,
            read_back: done.waits.read_back,
            syncs: done.waits.syncs,
            collective: done.waits.collective,
            dispatch: done.thread.map(|thread| thread.ran),
            padding: 1.0 - together.used as f64 / padded,
            clips: together.clips,
            audio: Seconds(together.audio.0 as f64 / f64::from(rate.hz())),
            kernels_new: None,
            replicas: together.worked.clone(),
            pause: Duration::ZERO,
        }
    }
}
