//! `myxtts bench train`: the GPT stage on real clips, with codes cached and nothing recorded.

use std::fmt;
use std::time::Duration;

use myxtts_pipeline::Summary;
use myxtts_train::TrainError;
use myxtts_train::placement::Placement;
use myxtts_train::probe::{ProbeCodes, ProbeRequest, probe};
use myxtts_train::session::TrainRequest;
use serde::{Deserialize, Serialize};

use crate::frame::{PeerScript, or_dash, times};

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

/// What `benchmarks/train_vs_reference.py` writes about the reference.
pub const PEER: PeerScript = PeerScript {
    peer: "the reference",
    command: "benchmarks/train_vs_reference.py ... > FILE",
};

/// The part of the reference's record that is read.
#[derive(Clone, Debug, Deserialize)]
pub struct PeerTraining {
    samples_per_s: f64,
    settings: PeerSettings,
}

#[derive(Clone, Debug, Deserialize)]
struct PeerSettings {
    size: String,
    batch_size: u32,
}

/// The sizes that were measured.
#[derive(Clone, Debug, Serialize)]
pub struct TrainReport {
    batch_size: u32,
    /// The first size, by the names people script against.
    #[serde(flatten)]
    main: MeasuredSize,
    sizes: Vec<MeasuredSize>,
}

#[derive(Clone, Debug, Serialize)]
struct MeasuredSize {
    size: String,
    #[serde(flatten)]
    figures: TrainFigures,
    /// Our clips per second over the reference's; absent without its record.
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio_to_reference: Option<f64>,
}

impl TrainReport {
    /// Compares the figures of each size with those of the peer, where it trained the same; `None`
    /// without a size.
    pub fn of(
        batch_size: u32,
        sizes: Vec<(String, TrainFigures)>,
        peer: Option<&PeerTraining>,
    ) -> Option<Self> {
        let measured = |(size, figures): (String, TrainFigures)| {
            let peer = peer.filter(|peer| {
                peer.settings.size == size && peer.settings.batch_size == batch_size
            });
            MeasuredSize {
                ratio_to_reference: peer.map(|peer| figures.samples_per_s / peer.samples_per_s),
                size,
                figures,
            }
        };
        let sizes: Vec<MeasuredSize> = sizes.into_iter().map(measured).collect();
        Some(Self {
            batch_size,
            main: sizes.first()?.clone(),
            sizes,
        })
    }
}

impl fmt::Display for TrainReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "batch size {}, {} clips, codes cached\n",
            self.batch_size, self.main.figures.clips
        )?;
        writeln!(
            f,
            "{:<8} {:>8} {:>10} {:>10} {:>12} {:>9} {:>10}",
            "size", "step s", "clips/s", "audio s/s", "data wait %", "peak MB", "reference"
        )?;
        for MeasuredSize {
            size,
            figures,
            ratio_to_reference,
        } in &self.sizes
        {
            writeln!(
                f,
                "{size:<8} {:>8.3} {:>10.2} {:>10.1} {:>12.2} {:>9} {:>10}",
                figures.step_s,
                figures.samples_per_s,
                figures.audio_per_s,
                figures.data_wait_pct,
                or_dash(figures.peak_rss_bytes.map(|bytes| bytes / 1_000_000)),
                times(*ratio_to_reference),
            )?;
        }
        for MeasuredSize { size, figures, .. } in &self.sizes {
            write!(f, "\n{size}: {}", figures.ledger)?;
        }
        Ok(())
    }
}
