//! A short look at the real thing: the GPT stage on real clips for some steps,
//! through the pipeline of a training, without books.
//!
//! `bench train`, `doctor`, `profile` and `tune` all measure with this.

mod request;
mod signals;
mod subject;
mod telemetry;
mod threads;
mod timing;
mod train_figures;
#[doc(hidden)]
pub mod trials;
mod watching;

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
pub use train_figures::{TrainFigures, measure};

use crate::error::TrainError;
use crate::feed::Shapes;
use crate::objective::GptTrainee;
use crate::placement::Placement;
use crate::session::{Job, TrainRequest};
use crate::stage::execute::StageWatch;
use subject::{Steps, Subject};

/// A number of buckets, the percent that they pad, and the text tokens and codes
/// of each.
pub type BucketOption = (usize, f64, Vec<(u32, u32)>);

/// What was measured.
#[derive(Clone, Debug)]
pub struct Probe {
    /// The measured steps, in order.
    pub steps: Vec<StepTiming>,
    /// The whole ledger, the warm-up included.
    pub entries: Vec<Entry>,
    /// The same added up, with the rings.
    pub ledger: Summary,
    /// Loading and opening: from nothing to a model that could start.
    pub made_ready: Duration,
    /// How the start was waited for.
    pub start: Start,
    /// Of the measured steps, pauses included.
    pub wall: Duration,
    /// Batches of one replica's step.
    pub accumulation: u64,
    /// Copies of the model.
    pub replicas: u32,
    /// Percent of an epoch's positions that are padding.
    pub padding_pct: f64,
    /// What more buckets would pad.
    pub buckets: Vec<BucketOption>,
    /// Clips of the corpus.
    pub clips: usize,
    /// Steps that the GPT's stage of a training of this job has.
    pub run_steps: u64,
    /// Bytes of recordings that a step reads, all replicas.
    pub step_bytes: u64,
    /// Recordings from all over the corpus.
    pub recordings: Vec<PathBuf>,
    /// Parameters of the GPT.
    pub parameters: usize,
    /// Most memory that the process had; absent where the system does not say.
    pub peak_rss_bytes: Option<u64>,
    /// Memory that the engine holds on each model device at the end.
    pub device_bytes: Vec<Option<u64>>,
    /// Kernels of the warm-up, and those that came after it.
    pub kernels: [usize; 2],
    /// Kernels that the measured steps launched, on all devices; absent where
    /// nobody asked or nothing is a GPU.
    pub launches: Option<Vec<KernelUse>>,
    /// Shapes that were met.
    pub shapes: Vec<Shapes>,
    /// Those that were not met in the warm-up.
    pub new_shapes: Vec<Shapes>,
    /// What threads took of the cores during the measured steps.
    pub threads: Option<ThreadUse>,
    /// Loss of the last step.
    pub loss: f32,
}

impl Probe {
    /// Mean wall time of a step, its waits included and pauses not.
    pub fn step_s(&self) -> f64 {
        let steps = self.steps.iter().map(|step| step.step.as_secs_f64());
        steps.sum::<f64>() / self.steps.len().max(1) as f64
    }

    /// The number of the first measured step in its stage, from 1.
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

/// Trains a new GPT for so many epochs, told to `watch`; `per_epoch` hears first
/// of how many steps those are.
fn train_epochs(
    job: &Job,
    placement: &Placement,
    epochs: u64,
    per_epoch: impl FnOnce(u64),
    watch: &mut dyn StageWatch<GptTrainee>,
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
    subject.train(&request, &steps, &Arc::default(), watch)?;
    Ok(())
}
