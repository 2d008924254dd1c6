//! Looks at the machine, then trains for a few seconds through
//! the real pipeline and shows where the time went.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use myxtts_base::report;
use myxtts_config::{Keys, Settings, shell};
use myxtts_data::prepare::{Ready, Report as Prepared};
use myxtts_data::storage::{StorageRequest, storage};
use myxtts_device::{Gpu, Machine, Plan};
use myxtts_doctor::report::{Problem, SectionName};
use myxtts_doctor::signals::{BackendFound, GpuFound, Headroom, Quality};
use myxtts_doctor::units::Seconds;
use myxtts_doctor::{Signal, Signals};
use myxtts_run::observer::Observer;
use myxtts_run::signals::{StopRequest, StopSignal};
use myxtts_train::TrainError;
use myxtts_train::placement::Placement;
use myxtts_train::probe::{BatchSource, Probe, ProbeRequest, probe};
use myxtts_train::session::TrainRequest;

use crate::dataset::{Part, dataset, output_folder, prepare_folder, prepared_in};
use crate::error::Error;
use crate::request::train_request;
use crate::settings::{Config, Given, effective_yaml, load};
use crate::train::plan;

/// How long a quick look waits for a dataset that is not prepared.
const QUICK_PREPARATION: Duration = Duration::from_secs(3);
/// How long any other look waits for it.
const PREPARATION: Duration = Duration::from_secs(86_400);
/// The number of examples shown for each fault of clips.
const EXAMPLES: usize = 3;
/// The steps before the first one that is measured.
const WARM_UP: u64 = 2;

/// How much to measure.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    /// The number of steps to measure.
    pub batches: u64,
    /// The time for these steps, live and cached together.
    pub time: Duration,
    /// How long to wait for a dataset that is not prepared.
    pub preparation: Duration,
}

impl Asked {
    /// Asks for a quick look.
    pub fn quick() -> Self {
        Self {
            batches: 6,
            time: Duration::from_secs(4),
            preparation: QUICK_PREPARATION,
        }
    }

    /// Asks for a look that takes about a minute, beside what there is to prepare.
    pub fn thorough() -> Self {
        Self {
            batches: 40,
            time: Duration::from_secs(60),
            preparation: PREPARATION,
        }
    }
}

/// What was observed: signals for the rules, and the problems that prevented more.
#[derive(Debug, Default)]
pub(super) struct Looked {
    pub(super) signals: Signals,
    pub(super) problems: Vec<Problem>,
}

/// Looks at everything as far as possible: a part that fails is a problem of its section, and
/// what depends on it is skipped.
pub(super) fn look(
    keys: &Keys,
    given: &Given,
    machine: Result<Machine, Error>,
    asked: Asked,
    observer: &dyn Observer,
) -> Looked {
    let mut looked = Looked::default();
    let fails =
        |section: SectionName| move |error: Error| Problem::new(section, &error.to_string());
    let result = machine.map_err(fails(SectionName::Devices));
    let result = result.and_then(|machine| {
        looked.signals.machine.backends = Signal::Known(backends(&machine));
        looked.signals.machine.cores = Signal::Known(machine.host.cores);
        let planned = planned(keys, given, &machine);
        let (settings, plan) = planned.map_err(fails(SectionName::Configuration))?;
        let ready = prepared(&settings, asked, observer).map_err(fails(SectionName::Dataset))?;
        looked.signals.dataset.clips = Signal::Known(ready.report.total);
        looked.signals.dataset.quality = Signal::Known(quality(&ready.report));
        let text = effective_yaml(keys, &settings);
        let folder = ready.folder.clone();
        let dataset = prepared_in(&settings, folder, &StopRequest::new(), observer);
        let training = dataset.and_then(|dataset| train_request(&settings, &plan, dataset, text));
        let training = training.map_err(fails(SectionName::Configuration))?;
        let opened = Placement::of(&plan).map_err(Error::failed);
        let placement = opened.map_err(fails(SectionName::Devices))?;
        let measured = measured(&training, &placement, asked).map_err(Error::from);
        let measured = measured.map_err(fails(SectionName::PipelineSpeed))?;
        let known = std::mem::take(&mut looked.signals);
        looked.signals = measured;
        looked.signals.machine.backends = known.machine.backends;
        looked.signals.machine.cores = known.machine.cores;
        looked.signals.dataset.clips = known.dataset.clips;
        looked.signals.dataset.quality = known.dataset.quality;
        Ok(())
    });
    looked.problems.extend(result.err());
    looked
}

fn planned(
    keys: &Keys,
    given: &Given,
    machine: &Machine,
) -> Result<(Settings<Config>, Plan), Error> {
    let settings = load(keys, given, || machine.clone())?;
    let plan = plan(&settings, machine)?;
    Ok((settings, plan))
}

/// Returns the dataset as a training wants it, if preparing it does not take too long.
fn prepared(
    settings: &Settings<Config>,
    asked: Asked,
    observer: &dyn Observer,
) -> Result<Ready, Error> {
    let configured = &settings.config.data.dataset;
    let folder = dataset(configured.train_data.as_deref())?;
    if !folder.exists() {
        return Err(Error::Failed(report!(
            "there is no dataset at {}", folder.display();
            fix: "--train-data DIR, or leave it out for the sample corpus"
        )));
    }
    let out = output_folder(
        configured.prepared.as_deref(),
        &folder,
        Part::Training,
        observer,
    )?;
    let stop = StopRequest::new();
    let (done, is_done) = channel::<()>();
    let ready = std::thread::scope(|scope| {
        let asker = stop.clone();
        scope.spawn(move || {
            // Nothing is sent: the end of the preparation ends the channel.
            if is_done.recv_timeout(asked.preparation) == Err(RecvTimeoutError::Timeout) {
                asker.ask(StopSignal::Interrupt);
            }
        });
        let _done = done;
        prepare_folder(settings, folder.clone(), out, None, &stop, observer)
    });
    ready.map_err(|error| match error {
        Error::Stopped(..) => unprepared(&folder, asked.preparation),
        other => other,
    })
}

fn unprepared(folder: &Path, waited: Duration) -> Error {
    let command = shell::command([OsStr::new("prepare"), folder.as_os_str()]);
    Error::Failed(report!(
        "{} is not prepared, and preparing it takes more than {} s",
            folder.display(), waited.as_secs();
        fix: "{command}"
    ))
}

/// Trains for a few seconds, on live batches and on cached ones, and reads the files of its
/// recordings.
fn measured(
    training: &TrainRequest,
    placement: &Placement,
    asked: Asked,
) -> Result<Signals, TrainError> {
    let begin = Instant::now();
    // Live batches say more, so cached ones get the time that is left.
    let request = ProbeRequest {
        warm_up_steps: WARM_UP,
        steps: asked.batches,
        at_most: asked.time * 2 / 3,
        ..ProbeRequest::default()
    };
    let live = probe(training, placement, &request)?;
    let left = asked.time.saturating_sub(begin.elapsed());
    let request = ProbeRequest {
        keep: BatchSource::Cached,
        warm_up_steps: 1,
        begin_at: live.first_step().saturating_sub(2),
        steps: live.steps.len() as u64,
        at_most: left.max(asked.time / 4),
        ..ProbeRequest::default()
    };
    let cached = probe(training, placement, &request);
    let mut signals = live.signals(training, placement);
    signals.steps.headroom = match &cached {
        Ok(cached) => headroom(&live, cached),
        Err(why) => Signal::unavailable(why.to_string()),
    };
    let request = StorageRequest {
        files: live.recordings.clone(),
        threads: training.plan.workers as usize,
        at_most: asked.time / 20,
        slowness: Default::default(),
    };
    if let Ok(rates) = storage(&request) {
        signals.storage = live.storage_signals(&rates);
    }
    Ok(signals)
}

/// Fewer steps are not compared: if another program held up one of two, they differ by more than
/// loading costs.
const COMPARED_STEPS: usize = 3;

/// Compares the steps that both probes took.
fn headroom(live: &Probe, cached: &Probe) -> Signal<Headroom> {
    let shared = |probe: &Probe, other: &Probe| -> Vec<f64> {
        let is_shared = |number: u64| other.steps.iter().any(|step| step.number == number);
        let steps = probe.steps.iter().filter(|step| is_shared(step.number));
        steps.map(|step| step.step.as_secs_f64()).collect()
    };
    let (live, cached) = (shared(live, cached), shared(cached, live));
    if live.len() < COMPARED_STEPS {
        return Signal::unavailable("too few steps were measured to compare them");
    }
    let mean = |seconds: &[f64]| Seconds(seconds.iter().sum::<f64>() / seconds.len() as f64);
    Signal::Known(Headroom {
        cached: mean(&cached),
        live: mean(&live),
    })
}

/// Returns what device discovery found for each backend.
fn backends(machine: &Machine) -> Vec<BackendFound> {
    let gpu = |gpu: &Gpu| GpuFound {
        id: gpu.id,
        name: gpu.name.clone(),
        memory: match gpu.memory.value() {
            Some(memory) => Signal::Known(*memory),
            None => Signal::unavailable(gpu.memory.to_string()),
        },
    };
    let backends = machine.backends.iter().map(|report| BackendFound {
        name: report.backend.name().to_owned(),
        gpus: report.gpus.iter().map(gpu).collect(),
        unavailable: report.unavailable.clone(),
    });
    backends.collect()
}

/// Returns what preparation found about the clips.
fn quality(report: &Prepared) -> Vec<Quality> {
    let quality = report.findings.iter().map(|finding| Quality {
        reason: finding.finding.clone(),
        clips: finding.occurrences.count,
        left_out: !finding.kept,
        examples: finding
            .occurrences
            .first
            .iter()
            .take(EXAMPLES)
            .map(|e| e.source.clone())
            .collect(),
    });
    quality.collect()
}
