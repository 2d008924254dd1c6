//! Proves the doctor: each fault is put into the real pipeline, the probe measures it, the rules
//! diagnose it, it is mended, and the probe measures again.

use std::time::Duration;

use myxtts_config::units::Megabytes;
use myxtts_data::config::CacheKind;
use myxtts_data::storage::{StorageRequest, storage};
use myxtts_doctor::signals::StorageSignals;
use myxtts_doctor::units::{MegabytesPerSecond, Seconds, Share};
use myxtts_doctor::{Code, Diagnosis, Signal, diagnose};
use myxtts_pipeline::PipelineStage;
use serde::Serialize;

use super::{Probe, ProbeRequest, probe};
use crate::error::TrainError;
use crate::faults::{Faults, StepFaults};
use crate::placement::Placement;
use crate::session::TrainRequest;

/// How many times as long as a healthy step a fault takes.
const TIMES: u32 = 3;
/// The shortest fault: shorter ones drown in a loaded machine.
const SHORTEST: Duration = Duration::from_millis(60);
/// The number of cores reported for sleeping threads: a fault that sleeps needs none of the real
/// ones.
const CORES_OF_SLEEPERS: u32 = 8;
/// Steps between two pauses.
const PAUSE_EVERY: u64 = 20;
/// A number of workers that is too many on any machine that this runs on.
const TOO_MANY: u32 = 16;
/// The work of one worker for a batch while too many crowd the cores, as a share of a healthy
/// step: one of them could do it alone.
const CROWDED_WORK: f64 = 0.6;
/// Batches that those workers may be ahead, for each measured step. They make more than the model
/// takes, and would leave it the cores as soon as they could make no more.
const CROWDED_AHEAD: u32 = 100;
/// More than they fill: what they make is bounded by batches alone.
const UNBOUNDED: Megabytes = Megabytes(1 << 30);
/// The key of how many there are.
const WORKERS: &str = "data.num_workers";

/// A fault, and what must be found first.
#[derive(Clone, Copy, Debug)]
pub struct Trial {
    /// The fault in words.
    pub fault: &'static str,
    /// The finding that must come first.
    pub code: Code,
    /// Whether the fault shows only on a GPU.
    pub needs_gpu: bool,
    /// Whether the fault needs several replicas.
    pub needs_replicas: bool,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Disk,
    Decode,
    Upload,
    Dvae,
    Padding,
    Shapes,
    ReadBack,
    Pause,
    Straggler,
    FewWorkers,
    ManyWorkers,
    Fusion,
}

/// The twelve faults that the doctor must name.
pub const TRIALS: [Trial; 12] = [
    Trial::new("slow disk", Code::SlowStorage, Kind::Disk),
    Trial::new("slow decode", Code::SlowDecode, Kind::Decode),
    Trial::new("slow upload", Code::GpuTransfer, Kind::Upload),
    Trial::new("long DVAE, codes not kept", Code::DevicePrep, Kind::Dvae),
    Trial::new("one bucket for all lengths", Code::Padding, Kind::Padding),
    Trial::new("a new shape every step", Code::Recompiling, Kind::Shapes),
    Trial::new(
        "weights read back every step",
        Code::SyncPoints,
        Kind::ReadBack,
    ),
    Trial::new("a pause every 20 steps", Code::Pauses, Kind::Pause),
    Trial::new("one slow replica", Code::RankSkew, Kind::Straggler),
    Trial::new("too few workers", Code::LowWorkers, Kind::FewWorkers),
    Trial::new("too many workers", Code::TooManyWorkers, Kind::ManyWorkers),
    Trial::new("fusion off", Code::FusionOff, Kind::Fusion),
];

impl Trial {
    const fn new(fault: &'static str, code: Code, kind: Kind) -> Self {
        Self {
            fault,
            code,
            needs_gpu: matches!(kind, Kind::Shapes | Kind::Fusion),
            needs_replicas: matches!(kind, Kind::Straggler),
            kind,
        }
    }
}

/// The result of a trial.
#[derive(Clone, Debug, Serialize)]
pub struct Tried {
    /// The fault in words.
    pub fault: &'static str,
    /// What had to be found first.
    pub expected: Code,
    /// What was found, in the order of rank.
    pub found: Vec<Code>,
    /// Seconds that the first finding's fix should save, per 1,000 steps; absent if the rule does
    /// not say.
    pub predicted_s: Option<f64>,
    /// Seconds that mending saved, per 1,000 steps' worth of sound.
    pub measured_s: f64,
    /// Seconds of a step with the fault, pauses included.
    pub faulty_step_s: f64,
    /// Seconds of a step without the fault, pauses included.
    pub mended_step_s: f64,
}

impl Tried {
    /// Whether the fault was named first.
    pub fn is_right(&self) -> bool {
        self.found.first() == Some(&self.expected)
    }
}

/// Formats the results as a table for people.
pub fn table(tried: &[Tried]) -> String {
    let mut table = format!(
        "{:<30} {:<17} {:<17} {:>11} {:>11}\n",
        "fault", "expected", "found first", "predicted s", "measured s"
    );
    for row in tried {
        let first = row.found.first().map_or("nothing", |code| code.name());
        let predicted = row
            .predicted_s
            .map_or("-".to_owned(), |s| format!("{s:.1}"));
        table.push_str(&format!(
            "{:<30} {:<17} {first:<17} {predicted:>11} {:>11.1}\n",
            row.fault,
            row.expected.name(),
            row.measured_s
        ));
    }
    table
}

/// A healthy job, and how long its steps take.
#[derive(Debug)]
pub struct Bench<'a> {
    job: &'a TrainRequest,
    placement: &'a Placement,
    steps: u64,
    healthy: Probe,
}

impl<'a> Bench<'a> {
    /// Measures `job` as it is, over `steps` steps.
    pub fn new(
        job: &'a TrainRequest,
        placement: &'a Placement,
        steps: u64,
    ) -> Result<Self, TrainError> {
        let healthy = probe(job, placement, &request(steps, Faults::default()))?;
        Ok(Self {
            job,
            placement,
            steps,
            healthy,
        })
    }

    /// Diagnoses the healthy job.
    pub fn healthy(&self) -> Result<Diagnosis, TrainError> {
        self.diagnosis(self.job, &self.healthy, &Faults::default(), Kind::Shapes)
    }

    /// Injects a fault, diagnoses it, mends it, and measures what that saved.
    pub fn run(&self, trial: &Trial) -> Result<Tried, TrainError> {
        match trial.kind {
            // A saving of a few milliseconds could not be measured.
            Kind::ManyWorkers | Kind::Padding => {
                let job = heavier(self.job);
                Bench::new(&job, self.placement, self.steps)?.tried(trial)
            }
            _ => self.tried(trial),
        }
    }

    fn tried(&self, trial: &Trial) -> Result<Tried, TrainError> {
        let (broken, faults) = self.broken(trial.kind);
        let steps = match trial.kind {
            Kind::Pause => self.steps.max(2 * PAUSE_EVERY),
            _ => self.steps,
        };
        let faulty = probe(&broken, self.placement, &request(steps, faults.clone()))?;
        let diagnosis = self.diagnosis(&broken, &faulty, &faults, trial.kind)?;
        let first = diagnosis.findings.first();
        let (mended, faults) = self.mended(trial.kind, broken, faults, &diagnosis);
        let mended = probe(&mended, self.placement, &request(steps, faults))?;
        // A step with other buckets holds other clips, so times are compared per second of sound.
        let worth = sound(&faulty) / sound(&mended).max(1e-9);
        let (faulty_step_s, mended_step_s) = (whole_step(&faulty), whole_step(&mended) * worth);
        Ok(Tried {
            fault: trial.fault,
            expected: trial.code,
            found: diagnosis
                .findings
                .iter()
                .map(|finding| finding.code)
                .collect(),
            predicted_s: first
                .and_then(|finding| finding.gain.seconds())
                .map(|gain| gain.0),
            measured_s: 1000.0 * (faulty_step_s - mended_step_s),
            faulty_step_s,
            mended_step_s,
        })
    }

    fn broken(&self, kind: Kind) -> (TrainRequest, Faults) {
        let mut job = self.job.clone();
        let mut faults = Faults::default();
        let step = Duration::from_secs_f64(self.healthy.step_s());
        let long = (step * TIMES).max(SHORTEST);
        let clips = self.clips_a_batch();
        match kind {
            // Clips are read one after the other, however many threads read.
            Kind::Disk => faults.read = long / clips,
            Kind::Decode => faults.decodes = self.decodes(long, self.job.plan.workers),
            Kind::Upload => faults.upload = long,
            Kind::Dvae => {
                job.config.data.dataset.cache = CacheKind::None;
                faults.encode = long;
            }
            Kind::Padding => job.config.data.shapes.buckets = 1,
            Kind::Shapes => job.plan.static_shapes = false,
            Kind::ReadBack => faults.step.reads = self.reads(step),
            Kind::Pause => faults.pause = Some((PAUSE_EVERY, 4 * long)),
            Kind::Straggler => {
                faults.step = StepFaults {
                    straggler: Some((1, long)),
                    ..StepFaults::default()
                };
            }
            Kind::FewWorkers => {
                job.plan.workers = 1;
                job.chosen.insert(WORKERS.to_owned());
                faults.clip = long / clips;
            }
            Kind::ManyWorkers => {
                job.plan.workers = TOO_MANY;
                job.chosen.insert(WORKERS.to_owned());
                // There is work for all of them as long as it is measured.
                let steps = u32::try_from(self.steps).unwrap_or(u32::MAX);
                let ahead = CROWDED_AHEAD.saturating_mul(steps);
                let ahead = ahead.saturating_add(TOO_MANY);
                (job.plan.in_flight, job.plan.in_flight_start) = (ahead, ahead);
                job.plan.buffer_mb = UNBOUNDED;
                faults.decodes = self.decodes(step.mul_f64(CROWDED_WORK), 1);
            }
            Kind::Fusion => {
                job.plan.graph_mode = Some(false);
            }
        }
        (job, faults)
    }

    fn mended(
        &self,
        kind: Kind,
        broken: TrainRequest,
        faults: Faults,
        diagnosis: &Diagnosis,
    ) -> (TrainRequest, Faults) {
        let edited = || {
            let edits = diagnosis.findings.first()?.edits.iter();
            let mut edits = edits.filter(|edit| edit.key == WORKERS);
            edits.next()?.new.parse().ok()
        };
        match kind {
            // Only the setting changes; the work stays.
            Kind::FewWorkers | Kind::ManyWorkers => {
                let mut job = broken;
                job.plan.workers = edited().unwrap_or(self.job.plan.workers);
                (job, faults)
            }
            Kind::Dvae => (self.job.clone(), faults),
            _ => (self.job.clone(), Faults::default()),
        }
    }

    fn diagnosis(
        &self,
        job: &TrainRequest,
        measured: &Probe,
        faults: &Faults,
        kind: Kind,
    ) -> Result<Diagnosis, TrainError> {
        let mut signals = measured.signals(job, self.placement);
        signals.storage = storage_signals(job, measured, faults)?;
        if let (Kind::ManyWorkers, Signal::Known(host)) = (kind, &mut signals.pipeline.host) {
            // They work far ahead, so what they do in a step does not belong to the batch of that
            // step.
            host.busy = loading(measured);
        }
        if kind == Kind::FewWorkers {
            let used = measured.threads.unwrap_or_default().process;
            let cores = f64::from(CORES_OF_SLEEPERS);
            let busy = used.as_secs_f64() / (cores * measured.wall.as_secs_f64());
            signals.machine.cores = Signal::Known(CORES_OF_SLEEPERS);
            signals.machine.cpu_busy = Signal::Known(Share(busy));
        }
        Ok(diagnose(&signals))
    }

    fn clips_a_batch(&self) -> u32 {
        let steps = &self.healthy.steps;
        let clips: u64 = steps.iter().map(|step| step.clips).sum();
        let batches = steps.len() as u64 * self.healthy.accumulation;
        let batches = batches * u64::from(self.healthy.replicas);
        u32::try_from(clips / batches.max(1))
            .unwrap_or(u32::MAX)
            .max(1)
    }

    /// Returns how many extra decodes make `workers` take `long` for a batch.
    fn decodes(&self, long: Duration, workers: u32) -> u32 {
        let host = self
            .healthy
            .entries
            .iter()
            .filter(|entry| entry.stage == PipelineStage::Host);
        let (mut decode, mut batches) = (0, 0);
        for entry in host {
            decode += entry.decode_us.unwrap_or(0);
            batches += 1;
        }
        let one = decode as f64 / 1e6 / f64::from(batches.max(1));
        times(long.as_secs_f64() * f64::from(workers.max(1)), one)
    }

    /// Returns how many reads of all weights take as long as a step.
    fn reads(&self, step: Duration) -> u32 {
        // A gigabyte a second is little for a copy, and much for a bus.
        times(
            step.as_secs_f64(),
            self.healthy.parameters as f64 * 4.0 / 1e9,
        )
        .min(200)
    }
}

/// Returns the time the host stage works during a step, whichever batches it is for.
fn loading(probe: &Probe) -> Seconds {
    let first = (probe.first_step() - 1) * probe.accumulation;
    let of = |stage: PipelineStage| {
        probe
            .entries
            .iter()
            .filter(move |entry| entry.stage == stage)
    };
    let before = of(PipelineStage::Model).filter(|entry| entry.step < first);
    let begin = before.map(|entry| entry.at_us).max().unwrap_or(0);
    let end = of(PipelineStage::Model)
        .map(|entry| entry.at_us)
        .max()
        .unwrap_or(0);
    let within = of(PipelineStage::Host).filter(|entry| (begin..=end).contains(&entry.at_us));
    let busy: u64 = within.map(|entry| entry.busy_us).sum();
    Seconds(busy as f64 / 1e6 / probe.steps.len().max(1) as f64)
}

/// Returns a job whose model takes the cores for longer in a step, so that there is something to
/// take them from.
fn heavier(job: &TrainRequest) -> TrainRequest {
    let mut job = job.clone();
    job.sizes.gpt.layers *= 4;
    job.sizes.gpt.channels *= 4;
    job
}

/// Returns how many times `one` goes into `all`, from 1 to as long as anyone would wait.
fn times(all: f64, one: f64) -> u32 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "from 1 to 10,000"
    )]
    let times = (all / one.max(1e-6)).ceil().clamp(1.0, 10_000.0) as u32;
    times
}

fn request(steps: u64, faults: Faults) -> ProbeRequest {
    ProbeRequest {
        steps,
        faults,
        ..ProbeRequest::default()
    }
}

/// Returns the seconds of sound in a step.
fn sound(probe: &Probe) -> f64 {
    let sound: f64 = probe.steps.iter().map(|step| step.audio.0).sum();
    sound / probe.steps.len().max(1) as f64
}

/// Returns the seconds of a step, with its share of pauses.
fn whole_step(probe: &Probe) -> f64 {
    probe.wall.as_secs_f64() / probe.steps.len().max(1) as f64
}

/// The time for each reading of the storage.
const READING: Duration = Duration::from_millis(500);

/// Measures what the disk delivers, against what the steps need.
fn storage_signals(
    job: &TrainRequest,
    measured: &Probe,
    faults: &Faults,
) -> Result<StorageSignals, TrainError> {
    let request = StorageRequest {
        files: measured.recordings.clone(),
        threads: job.plan.workers as usize,
        at_most: READING,
        slowness: faults.slowness(),
    };
    let rates = storage(&request).map_err(TrainError::failed)?;
    Ok(measured.storage_signals(&rates))
}

/// The signals of a probe during which the disk was read.
impl Probe {
    /// Compares what the disk delivers with what the steps need while the model works.
    pub fn storage_signals(&self, rates: &myxtts_data::storage::StorageRates) -> StorageSignals {
        let megabytes = |bytes: f64| MegabytesPerSecond(bytes / f64::from(1 << 20));
        let own = self.step_s() - self.data_wait_s();
        StorageSignals {
            cold: match &rates.cold {
                Ok(rate) => Signal::Known(megabytes(*rate)),
                Err(why) => Signal::unavailable(why),
            },
            warm: Signal::Known(megabytes(rates.warm)),
            needed: Signal::Known(megabytes(self.step_bytes as f64 / own.max(1e-9))),
        }
    }

    fn data_wait_s(&self) -> f64 {
        let waited: f64 = self
            .steps
            .iter()
            .map(|step| step.data_wait.as_secs_f64())
            .sum();
        waited / self.steps.len().max(1) as f64
    }
}
