//! Where the time of a step went.

use std::time::Duration;

use myxtts_audio::units::{SampleRate, Seconds};

use crate::train_loop::StepReport;

/// The times of one step, as written to a line of `metrics.jsonl`.
#[derive(Clone, Debug, PartialEq)]
pub struct StepTiming {
    /// The number of the step in its stage, from 1.
    pub number: u64,
    /// Time since the end of the last step, without pauses; `step_s`.
    pub step: Duration,
    /// Time the model waited for its batches; `data_wait_s`.
    pub data_wait: Duration,
    /// Time the training thread waited for the device; `read_back_s`.
    pub read_back: Duration,
    /// How often it waited for the device; `syncs`.
    pub syncs: u64,
    /// Time in the exchange between replicas; `collective_s`.
    pub collective: Duration,
    /// Processor time of the training thread, where the system reports it; `dispatch_s`.
    pub dispatch: Option<Duration>,
    /// Share of positions that are padding, over all replicas; `padding`.
    pub padding: f64,
    /// Positions that the model computed, padding included, over all replicas.
    pub positions: u64,
    /// Clips, over all replicas; `clips`.
    pub clips: u64,
    /// Sound in those clips; `audio_s`.
    pub audio: Seconds,
    /// Kernels compiled during the step, on devices that compile any; `kernels_new`.
    pub kernels_new: Option<u64>,
    /// How long each replica worked, by rank; empty if there is only one; `replica_step_s`.
    pub replicas: Vec<Duration>,
    /// The pause after the step; `validation_s`.
    pub pause: Duration,
}

impl StepTiming {
    /// Returns the time of the exchange without the first replica's wait for a slower one.
    pub(crate) fn averaging(&self) -> Duration {
        let own = self.replicas.first().copied().unwrap_or_default();
        let slowest = self.replicas.iter().max().copied().unwrap_or_default();
        self.collective.saturating_sub(slowest.saturating_sub(own))
    }

    /// Makes the timing of a step that took `step` since the end of the last one.
    pub(crate) fn of(report: &StepReport, step: Duration, rate: SampleRate) -> Self {
        let totals = &report.totals;
        let padded = totals.padded.max(1) as f64;
        Self {
            number: report.step,
            step,
            data_wait: report.waited,
            read_back: report.waits.read_back,
            syncs: report.waits.syncs,
            collective: report.waits.collective,
            dispatch: report.thread.map(|thread| thread.ran),
            padding: 1.0 - totals.used as f64 / padded,
            positions: totals.padded,
            clips: totals.clips,
            audio: Seconds(totals.audio.0 as f64 / f64::from(rate.hz())),
            kernels_new: None,
            replicas: totals.worked.clone(),
            pause: Duration::ZERO,
        }
    }
}
