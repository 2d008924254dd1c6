//! `myxtts bench train`: the GPT stage on real clips, with codes cached and nothing recorded.

use std::time::Duration;

use myxtts_pipeline::Summary;
use serde::Serialize;

use super::{ProbeCodes, ProbeRequest, probe};
use crate::error::TrainError;
use crate::placement::Placement;
use crate::session::TrainRequest;

/// How fast a GPT stage trains.
#[derive(Clone, Debug, Serialize)]
pub struct TrainFigures {
    /// Parameters of the GPT.
    pub parameters: usize,
    /// Clips of the corpus.
    pub clips: usize,
    /// Steps measured, after an epoch that fills the cache of codes.
    pub steps: u64,
    /// Clips trained on per second.
    pub samples_per_s: f64,
    /// Seconds of audio trained on per second.
    pub audio_per_s: f64,
    /// Mean seconds of a step, waits included.
    pub step_s: f64,
    /// Percent of the time that the model waited for data.
    pub data_wait_pct: f64,
    /// Percent of positions that are padding.
    pub padding_pct: f64,
    /// The most memory the process has held; absent where the system does not report it.
    pub peak_rss_bytes: Option<u64>,
    /// The loss of the last step.
    pub loss: f32,
    /// Where the time of every pipeline stage went, the first epoch included.
    pub ledger: Summary,
}

/// Trains a new GPT on the codes of a new DVAE for an epoch and `steps` steps.
pub fn measure(
    training: &TrainRequest,
    placement: &Placement,
    steps: u64,
) -> Result<TrainFigures, TrainError> {
    let request = ProbeRequest {
        steps,
        at_most: Duration::MAX,
        codes: ProbeCodes::AfterAnEpoch,
        ..ProbeRequest::default()
    };
    let probe = probe(training, placement, &request)?;
    let wall = probe.wall.as_secs_f64().max(1e-9);
    let steps = probe.steps.iter();
    let waited: f64 = steps.clone().map(|step| step.data_wait.as_secs_f64()).sum();
    Ok(TrainFigures {
        parameters: probe.parameters,
        clips: probe.clips,
        steps: probe.steps.len() as u64,
        samples_per_s: steps.clone().map(|step| step.clips).sum::<u64>() as f64 / wall,
        audio_per_s: steps.map(|step| step.audio.0).sum::<f64>() / wall,
        step_s: wall / probe.steps.len().max(1) as f64,
        data_wait_pct: 100.0 * waited / wall,
        padding_pct: probe.padding_pct,
        peak_rss_bytes: probe.peak_rss_bytes,
        loss: probe.loss,
        ledger: probe.ledger,
    })
}
