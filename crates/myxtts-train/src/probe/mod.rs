//! Measures the real thing briefly: the GPT stage on real clips for some steps, through the
//! pipeline of a training, with nothing recorded.
//!
//! `bench train`, `bench gpu`, `doctor`, `profile` and `tune` all measure with this.

mod observer;
mod request;
mod signals;
mod subject;
mod telemetry;
mod threads;
mod timing;
#[doc(hidden)]
pub mod trials;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use myxtts_base::process::forget_peak;
use myxtts_device::KernelUse;
use myxtts_pipeline::{Entry, Start, Summary};

pub use crate::stage::warm_up::Listener;
pub use request::{BatchSource, LaunchesAsked, ProbeCodes, ProbeRequest};
pub use telemetry::{TelemetryFigures, measure_telemetry};
pub use threads::ThreadUse;
pub use timing::StepTiming;

use crate::error::TrainError;
use crate::feed::Shapes;
use crate::objective::GptObjective;
use crate::placement::Placement;
use crate::session::{Job, TrainRequest};
use crate::stage::execute::StageObserver;
use subject::{Steps, Subject};

/// A number of buckets, the percent of padding they cause, and the text tokens and codes of each.
pub type BucketOption = (usize, f64, Vec<(u32, u32)>);

/// The measurements of a probe.
#[derive(Clone, Debug)]
pub struct Probe {
    /// The measured steps, in order.
    pub steps: Vec<StepTiming>,
    /// The whole ledger, including the warm-up.
    pub entries: Vec<Entry>,
    /// A summary of the ledger, with the rings.
    pub ledger: Summary,
    /// How long loading and opening took, until the model could start.
    pub made_ready: Duration,
    /// How the model waited for its first batches.
    pub start: Start,
    /// The time of the measured steps, pauses included.
    pub wall: Duration,
    /// Batches of one replica's step.
    pub accumulation: u64,
    /// Copies of the model that were trained.
    pub replicas: u32,
    /// Percent of an epoch's positions that are padding.
    pub padding_pct: f64,
    /// What more buckets would pad.
    pub buckets: Vec<BucketOption>,
    /// Clips of the corpus.
    pub clips: usize,
    /// Steps that the GPT stage of this job would take.
    pub run_steps: u64,
    /// Bytes of recordings that a step reads, over all replicas.
    pub step_bytes: u64,
    /// Recordings sampled from the whole corpus.
    pub recordings: Vec<PathBuf>,
    /// Parameters of the GPT.
    pub parameters: usize,
    /// The most memory the process has held; absent where the system does not report it.
    pub peak_rss_bytes: Option<u64>,
    /// Memory that the engine holds on each model device at the end.
    pub device_bytes: Vec<Option<u64>>,
    /// Kernels compiled in the warm-up, and after it.
    pub kernels: [usize; 2],
    /// Kernels that the measured steps launched, on all devices; absent if not asked for or
    /// without a GPU.
    pub launches: Option<Vec<KernelUse>>,
    /// Shapes that the device has seen.
    pub shapes: Vec<Shapes>,
    /// Shapes that the warm-up had not seen.
    pub new_shapes: Vec<Shapes>,
    /// What threads took of the cores during the measured steps.
    pub threads: Option<ThreadUse>,
    /// The loss of the last step.
    pub loss: f32,
}

impl Probe {
    /// Returns the mean wall time of a step in seconds, waits included and pauses not.
    pub fn step_s(&self) -> f64 {
        let steps = self.steps.iter().map(|step| step.step.as_secs_f64());
        steps.sum::<f64>() / self.steps.len().max(1) as f64
    }

    /// Returns the number of the first measured step in its stage, from 1.
    pub fn first_step(&self) -> u64 {
        self.steps.first().map_or(1, |step| step.number)
    }
}

/// Trains a new GPT on real clips as the request says, and keeps nothing of it.
pub fn probe(
    training: &TrainRequest,
    placement: &Placement,
    request: &ProbeRequest,
) -> Result<Probe, TrainError> {
    let job = &Job::of(training);
    forget_peak();
    let begin = Instant::now();
    request.listener.tell("reading the clips");
    let subject = Subject::read(job, placement)?;
    subject.run(request, begin)
}

/// Trains a new GPT for `epochs` epochs, observed by `observer`; `per_epoch` is first given the
/// steps of an epoch.
fn train_epochs(
    job: &Job,
    placement: &Placement,
    epochs: u64,
    per_epoch: impl FnOnce(u64),
    observer: &mut dyn StageObserver<GptObjective>,
) -> Result<(), TrainError> {
    let subject = Subject::read(job, placement)?;
    let accumulation = job.accumulation() as u64;
    let epoch = subject.schedule.steps_per_epoch().div_ceil(accumulation);
    per_epoch(epoch);
    let request = ProbeRequest {
        steps: epochs.saturating_sub(1) * epoch,
        codes: ProbeCodes::AfterAnEpoch,
        ..ProbeRequest::default()
    };
    let steps = subject.steps(&request, subject.largest());
    let steps = Steps {
        end: epochs * epoch,
        ..steps
    };
    subject.train(&request, &steps, &Arc::default(), observer)?;
    Ok(())
}
