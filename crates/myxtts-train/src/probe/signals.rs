//! Turns a probe into the signals that the doctor's rules read.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use myxtts_data::config::CacheKind;
use myxtts_device::PlannedDevice;
use myxtts_doctor::signals::{
    BucketChoice, CacheKind as Kept, DatasetSignals, DeviceRole, DeviceSignals, MachineSignals,
    Oscillation, Pauses, Period, PipelineSignals, Precision, Recompiles, Replica, Settings,
    StageSignals, StepSignals, Strategy, TrainStage,
};
use myxtts_doctor::units::{Flop, Seconds, Share};
use myxtts_doctor::{Signal, Signals, stats};
use myxtts_pipeline::{Entry, PipelineStage};
use serde_json::Value;

use super::{Probe, StepTiming};
use crate::objective::training_flop;
use crate::placement::Placement;
use crate::session::{Job, TrainRequest};

/// Steps from which unevenness can be told from chance.
const STEPS_OF_RHYTHM: usize = 40;
/// Lags at which a rhythm is looked for.
const LAGS: std::ops::RangeInclusive<usize> = 2..=19;
/// Microseconds within which a waiting batch is handed over.
const AT_ONCE: u64 = 200;

impl Probe {
    /// Returns the signals for the rules. What a probe cannot know stays unavailable.
    pub fn signals(&self, training: &TrainRequest, placement: &Placement) -> Signals {
        let job = &Job::of(training);
        Signals {
            settings: settings(job, placement),
            machine: self.machine(),
            steps: self.step_signals(),
            pipeline: self.pipeline_signals(),
            devices: devices(job, placement),
            dataset: DatasetSignals {
                clips: Signal::Known(self.clips as u64),
                buckets: Signal::Known(self.bucket_choices()),
                ..DatasetSignals::default()
            },
            ..Signals::default()
        }
    }

    fn machine(&self) -> MachineSignals {
        let cores = std::thread::available_parallelism().ok();
        let cores = cores.and_then(|cores| u32::try_from(cores.get()).ok());
        let busy = self.threads.and_then(|threads| threads.system);
        MachineSignals {
            cores: Signal::from_option(cores, "the system does not say"),
            cpu_busy: Signal::from_option(busy.map(Share), "the system does not say"),
            ..MachineSignals::default()
        }
    }

    fn step_signals(&self) -> StepSignals {
        let seconds = |of: fn(&StepTiming) -> Duration| self.mean(|step| of(step).as_secs_f64());
        let known = |value: Option<f64>| match value {
            Some(value) => Signal::Known(Seconds(value)),
            None => Signal::unavailable("no step was measured"),
        };
        let dispatched = self.steps.iter().all(|step| step.dispatch.is_some());
        let dispatch = seconds(|step| step.dispatch.unwrap_or_default()).filter(|_| dispatched);
        let steps = self.steps.len().max(1) as f64;
        let core_wait = self
            .threads
            .map(|used| used.core_wait.as_secs_f64() / steps);
        let untold = "the system does not say";
        let positions = self.mean(|step| step.positions as f64);
        let flop = positions.map(|positions| Flop(training_flop(self.parameters) * positions));
        StepSignals {
            measured: self.steps.len() as u64,
            remaining: Signal::Known(self.run_steps),
            step: known(seconds(|step| step.step)),
            data_wait: known(seconds(|step| step.data_wait)),
            read_back: known(seconds(|step| step.read_back)),
            syncs: Signal::from_option(self.mean(|step| step.syncs as f64), "no step was measured"),
            collective: known(seconds(StepTiming::averaging)),
            dispatch: Signal::from_option(dispatch.map(Seconds), untold),
            core_wait: Signal::from_option(core_wait.map(Seconds), untold),
            flop: Signal::from_option(flop, "no step was measured"),
            padding: Signal::Known(Share(self.padding_pct / 100.0)),
            audio: known(self.mean(|step| step.audio.0)),
            oscillation: self.oscillation(),
            recompiles: Signal::Known(self.recompiles()),
            pauses: Signal::Known(Pauses {
                checkpoint: Seconds(0.0),
                validation: Seconds(seconds(|step| step.pause).unwrap_or_default()),
                samples: Seconds(0.0),
            }),
            replicas: self.replicas(),
            ..StepSignals::default()
        }
    }

    fn mean(&self, of: impl Fn(&StepTiming) -> f64) -> Option<f64> {
        let values: Vec<f64> = self.steps.iter().map(of).collect();
        stats::mean(&values)
    }

    fn oscillation(&self) -> Signal<Oscillation> {
        if self.steps.len() < STEPS_OF_RHYTHM {
            return Signal::unavailable(format!(
                "{} steps were measured, and a rhythm shows in {STEPS_OF_RHYTHM}",
                self.steps.len()
            ));
        }
        let steps: Vec<f64> = self.steps.iter().map(|s| s.step.as_secs_f64()).collect();
        // What a step computes is its sound, and the padding beside it.
        let work: Vec<f64> = self
            .steps
            .iter()
            .map(|step| step.audio.0 / (1.0 - step.padding).max(0.01))
            .collect();
        let even = stats::without_work(&steps, &work);
        let (mean, median) = (stats::mean(&even), stats::median(&even));
        let excess = mean.zip(median).map_or(0.0, |(mean, median)| mean - median);
        Signal::Known(Oscillation {
            variation: stats::variation(&even).unwrap_or_default(),
            period: stats::period(&even, LAGS).map(|(steps, strength)| Period { steps, strength }),
            excess: Seconds(excess.max(0.0)),
        })
    }

    fn recompiles(&self) -> Recompiles {
        let kernels_of = |step: &&StepTiming| step.kernels_new.unwrap_or(0) > 0;
        let (with, without): (Vec<_>, Vec<_>) = self.steps.iter().partition(kernels_of);
        let mean = |steps: &[&StepTiming]| {
            let seconds: Vec<f64> = steps.iter().map(|step| step.step.as_secs_f64()).collect();
            stats::mean(&seconds)
        };
        let extra = mean(&with).zip(mean(&without));
        Recompiles {
            kernels: with.iter().filter_map(|step| step.kernels_new).sum(),
            steps: with.len() as u64,
            extra: extra.map(|(with, without)| Seconds((with - without).max(0.0))),
        }
    }

    fn replicas(&self) -> Signal<Vec<Replica>> {
        let ranks = self.steps.first().map_or(0, |step| step.replicas.len());
        if ranks == 0 {
            return Signal::unavailable("there is one replica");
        }
        let median_of = |rank: usize| {
            let times = self.steps.iter().filter_map(|step| step.replicas.get(rank));
            let times: Vec<f64> = times.map(Duration::as_secs_f64).collect();
            stats::median(&times).unwrap_or_default()
        };
        let medians: Vec<f64> = (0..ranks).map(median_of).collect();
        let middle = stats::median(&medians).unwrap_or_default();
        let mad = stats::mad(&medians).unwrap_or_default();
        let replica = |(rank, step): (usize, &f64)| Replica {
            rank,
            step: Seconds(*step),
            z_score: stats::modified_z(*step, middle, mad),
        };
        Signal::Known(medians.iter().enumerate().map(replica).collect())
    }

    fn pipeline_signals(&self) -> PipelineSignals {
        let part = |stage: PipelineStage, of: fn(&Entry) -> Option<u64>| {
            let entries: Vec<&Entry> = self.measured(stage).collect();
            let sum: Option<u64> = entries.iter().map(|entry| of(entry)).sum();
            let known = sum.filter(|_| !entries.is_empty());
            Signal::from_option(known.map(|us| self.per_step(us)), "the stage does not say")
        };
        let model: Vec<&Entry> = self.measured(PipelineStage::Model).collect();
        let at_once = model.iter().filter(|entry| entry.wait_in_us < AT_ONCE);
        PipelineSignals {
            host: self.stage(PipelineStage::Host),
            read: part(PipelineStage::Host, |entry| entry.read_us),
            decode: part(PipelineStage::Host, |entry| entry.decode_us),
            device: self.stage(PipelineStage::Device),
            upload: part(PipelineStage::Device, |entry| entry.upload_us),
            hop: self.stage(PipelineStage::Hop),
            ready: Signal::Known(Share(at_once.count() as f64 / model.len().max(1) as f64)),
        }
    }

    /// Returns the entries of the batches that the measured steps used.
    fn measured(&self, stage: PipelineStage) -> impl Iterator<Item = &Entry> {
        let first = (self.first_step() - 1) * self.accumulation;
        let batches = first..first + self.steps.len() as u64 * self.accumulation;
        self.entries
            .iter()
            .filter(move |entry| entry.stage == stage && batches.contains(&entry.step))
    }

    fn per_step(&self, microseconds: u64) -> Seconds {
        Seconds(microseconds as f64 / 1e6 / self.steps.len().max(1) as f64)
    }

    fn stage(&self, stage: PipelineStage) -> Signal<StageSignals> {
        let entries: Vec<&Entry> = self.measured(stage).collect();
        if entries.is_empty() {
            return Signal::unavailable("there is no such stage");
        }
        let sum = |of: fn(&Entry) -> u64| self.per_step(entries.iter().map(|e| of(e)).sum());
        let all = self.entries.iter().filter(|entry| entry.stage == stage);
        let threads: BTreeSet<usize> = all.map(|entry| entry.worker).collect();
        Signal::Known(StageSignals {
            threads: u32::try_from(threads.len()).unwrap_or(u32::MAX),
            busy: sum(|entry| entry.busy_us),
            wait_in: sum(|entry| entry.wait_in_us),
            wait_out: sum(|entry| entry.wait_out_us),
        })
    }

    fn bucket_choices(&self) -> Vec<BucketChoice> {
        let choice = |(buckets, padding, edges): &(usize, f64, Vec<(u32, u32)>)| BucketChoice {
            buckets: u32::try_from(*buckets).unwrap_or(u32::MAX),
            padding: Share(padding / 100.0),
            edges: edges.clone(),
        };
        self.buckets.iter().map(choice).collect()
    }
}

fn settings(job: &Job, placement: &Placement) -> Settings {
    let count = |value: usize| Signal::Known(u32::try_from(value).unwrap_or(u32::MAX));
    let mut keys = BTreeMap::new();
    flatten("", &job.config, &mut keys);
    Settings {
        keys: Signal::Known(keys),
        stage: Signal::Known(TrainStage::Gpt),
        strategy: Signal::Known(strategy(placement)),
        workers: Signal::Known(job.plan.workers),
        batch_size: Signal::Known(job.plan.batch_size),
        accumulation: count(job.accumulation()),
        device_ring: Signal::Known(job.plan.ring_depth),
        precision: Signal::Known(match job.plan.precision {
            myxtts_device::Precision::F32 => Precision::F32,
            myxtts_device::Precision::Bf16 => Precision::Bf16,
            myxtts_device::Precision::F16 => Precision::F16,
        }),
        static_shapes: Signal::Known(job.plan.static_shapes),
        fusion: Signal::Known(job.plan.graph_mode),
        cache: Signal::Known(match job.clips.cache {
            CacheKind::None => Kept::None,
            CacheKind::Memory => Kept::Memory,
            CacheKind::Disk => Kept::Disk,
        }),
        buckets: count(job.clips.buckets),
    }
}

fn strategy(placement: &Placement) -> Strategy {
    match (
        placement.has_gpu(),
        placement.has_hop,
        placement.models.len(),
    ) {
        (false, ..) => Strategy::Cpu,
        (true, false, 1) => Strategy::OneDevice,
        (true, false, _) => Strategy::Mirrored,
        (true, true, 1) => Strategy::Split,
        (true, true, _) => Strategy::SplitMirrored,
    }
}

/// Collects every key with its value as text.
fn flatten(path: &str, value: &Value, keys: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let path = match path {
                    "" => name.clone(),
                    path => format!("{path}.{name}"),
                };
                flatten(&path, value, keys);
            }
        }
        Value::Null => {}
        Value::String(text) => {
            keys.insert(path.to_owned(), text.clone());
        }
        other => {
            keys.insert(path.to_owned(), other.to_string());
        }
    }
}

/// Lists the devices by name only: a probe does not read them.
fn devices(job: &Job, placement: &Placement) -> Vec<DeviceSignals> {
    let device = |device: Option<&PlannedDevice>, index: usize, role: DeviceRole| {
        const DEVICE: &str = "a probe does not read the device";
        const DRIVER: &str = "a probe does not read the driver";
        const PLAN: &str = "a probe does not look at the plan's estimate of memory";
        DeviceSignals {
            logical: u32::try_from(index).unwrap_or(u32::MAX),
            name: device.map_or_else(|| format!("device {index}"), |device| device.name.clone()),
            backend: device
                .map_or("cpu", |device| device.backend.name())
                .to_owned(),
            role,
            busy: Signal::unavailable(DEVICE),
            budget: Signal::unavailable(PLAN),
            memory: Signal::unavailable(DEVICE),
            estimate: Signal::unavailable(PLAN),
            throttled: Signal::unavailable(DRIVER),
            clock: Signal::unavailable(DRIVER),
            pcie: Signal::unavailable(DRIVER),
            precisions: Signal::unavailable(DEVICE),
            peak_flops: Signal::unavailable(DEVICE),
        }
    };
    let models = 0..placement.models.len();
    let data = placement.has_hop.then_some(&job.plan.data_device);
    let data = data.map(|data| device(Some(data), 0, DeviceRole::Data));
    let models = models.map(|index| {
        let model = job.plan.model_devices.get(index);
        device(
            model,
            index + usize::from(placement.has_hop),
            DeviceRole::Model,
        )
    });
    data.into_iter().chain(models).collect()
}
