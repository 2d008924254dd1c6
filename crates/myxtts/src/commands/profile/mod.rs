//! `myxtts profile`

mod compare;
mod device_work;
mod what_if;

use std::fmt;
use std::path::{Path, PathBuf};

use clap::ArgMatches;
use myxtts::internal::train_request;
use myxtts::prepare;
use myxtts_base::report;
use myxtts_config::{Keys, Settings};
use myxtts_device::{Backend, Host, Machine, Plan, plan};
use myxtts_profile::{Profile, StepTime, svg, write_trace};
use myxtts_run::signals::StopRequest;
use myxtts_train::probe::{LaunchesAsked, Probe, ProbeRequest, probe};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::failure::train_failure;
use super::memory;
use super::steps::{self, Ended, Watchdog};
use crate::config::{self, Config};
use crate::new_file::NewFile;
use crate::output::{Failure, Output};
use device_work::DeviceWork;
use myxtts_train::placement::Placement;

/// The steps whose kernels are timed one by one, after the measured ones.
const TIMED_STEPS: u64 = 2;

pub(super) fn run(matches: &ArgMatches, output: &Output) -> Result<(), Failure> {
    let machine = super::machine()?;
    let given = super::given(matches)?;
    let keys = config::keys();
    let settings = config::load(&keys, &given, || machine.clone()).map_err(Failure::usage)?;
    let subject = Subject {
        keys,
        settings,
        machine,
    };
    if matches.get_flag("compare") {
        return compare::run(&subject, matches, output);
    }
    match matches.get_one::<String>("what-if") {
        Some(edit) => what_if::run(&subject, edit, matches, output),
        None => stages(&subject, matches, output),
    }
}

/// The configuration that is measured.
struct Subject {
    keys: Keys,
    settings: Settings<Config>,
    machine: Machine,
}

impl Subject {
    fn plan(&self) -> Result<Plan, Failure> {
        let request = memory::training_request(&self.settings, None)?;
        plan(&request, &self.machine).map_err(Failure::usage)
    }

    /// Prepares the dataset before anything is measured. What cannot be trained as asked is
    /// refused here, in the words of `train`.
    fn prepare_once(&self, stop: &StopRequest, output: &Output) -> Result<(), Failure> {
        steps::prepare_once(&self.settings, &self.plan()?, stop, output)
    }
}

/// Measures the stages for a few steps on the devices of the plan.
fn stages(subject: &Subject, matches: &ArgMatches, output: &Output) -> Result<(), Failure> {
    let [trace, picture] = ["trace", "svg"].map(|name| matches.get_one::<PathBuf>(name));
    // Unwritable files are reported before anything is measured. They are begun again when there
    // is something to write: a signal in between leaves nothing beside them.
    for path in [trace, picture].into_iter().flatten() {
        drop(begin_file(path)?);
    }
    let plan = subject.plan()?;
    // Signals end this command as they end any program: it keeps nothing.
    let stop = StopRequest::new();
    let dataset = prepare(&subject.settings, &stop, output)?;
    let training = train_request(&subject.settings, &plan, dataset, String::new())?;
    let placement = Placement::of(&plan).map_err(Failure::job)?;
    let watchdog = watchdog(matches, output)?;
    let request = ProbeRequest {
        launches: LaunchesAsked::Counted,
        listener: watchdog.listener(),
        ..steps::asked(matches)
    };
    output.log(format_args!(
        "measuring {} steps of the GPT stage on {}",
        request.steps,
        devices(&plan)
    ));
    let measured = probe(&training, &placement, &request).map_err(train_failure)?;
    let timed = match placement.has_gpu() && placement.replicas() == 1 {
        true => {
            output.log("timing kernels one by one");
            let request = ProbeRequest {
                launches: LaunchesAsked::Timed,
                steps: TIMED_STEPS,
                ..request.clone()
            };
            Some(probe(&training, &placement, &request).map_err(train_failure)?)
        }
        false => None,
    };
    drop(watchdog);
    let report = Report::new(
        &measured,
        timed.as_ref(),
        &plan,
        subject.machine.host.clone(),
    );
    if let Some(path) = trace {
        let mut text = vec![];
        write_trace(&report.profile, &report.about(), &mut text)
            .map_err(|why| unwritten(path, &why))?;
        write_file(path, &text)?;
        output.log(format_args!(
            "{} written; open it at https://ui.perfetto.dev",
            path.display()
        ));
    }
    if let Some(path) = picture {
        write_file(path, svg(&report.profile).as_bytes())?;
        output.log(format_args!("{} written", path.display()));
    }
    output.result(&report, &report)
}

/// Ends this process, with the reason, if the measurement hangs.
fn watchdog(matches: &ArgMatches, output: &Output) -> Result<Watchdog, Failure> {
    let output = Output::new(output.is_json());
    let bark = move |ended: Ended| {
        let failure = ended.failure("the measurement");
        output.failure(&failure);
        std::process::exit(i32::from(failure.exit_code()));
    };
    let dog = Watchdog::start(steps::effort(matches).hang_limit, bark);
    dog.map_err(|why| Failure::Job(report!("no thread can be started: {why}")))
}

fn begin_file(path: &Path) -> Result<NewFile, Failure> {
    NewFile::beside(path).map_err(|why| {
        Failure::Usage(report!(
            "{} cannot be written: {why}", path.display();
            fix: "name a file in a folder that exists and may be written to"
        ))
    })
}

fn write_file(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    begin_file(path)?
        .keep(bytes)
        .map_err(|why| unwritten(path, &why))
}

fn unwritten(path: &Path, why: &std::io::Error) -> Failure {
    Failure::Job(report!("{} was not written: {why}", path.display()))
}

/// Returns the model's devices, and that of the data if it is another one.
fn devices(plan: &Plan) -> String {
    let mut names: Vec<&str> = vec![];
    for device in plan.model_devices.iter().chain([&plan.data_device]) {
        if !names.contains(&device.name.as_str()) {
            names.push(&device.name);
        }
    }
    names.join(", ")
}

/// What was measured, on what, and how.
#[derive(Serialize)]
struct Report {
    machine: Host,
    devices: String,
    strategy: myxtts_device::Strategy,
    batch_size: u32,
    workers: u32,
    #[serde(rename = "device_prefetch")]
    ring_depth: u32,
    precision: myxtts_device::Precision,
    #[serde(flatten)]
    profile: Profile,
    device_work: DeviceWork,
}

impl Report {
    fn new(probe: &Probe, timed: Option<&Probe>, plan: &Plan, machine: Host) -> Self {
        let times: Vec<StepTime> = probe
            .steps
            .iter()
            .map(|step| StepTime {
                wall_s: step.step.as_secs_f64(),
                data_wait_s: step.data_wait.as_secs_f64(),
                read_back_s: Some(step.read_back.as_secs_f64()),
                collective_s: (probe.replicas > 1).then_some(step.collective.as_secs_f64()),
                work: step.audio.0 / (1.0 - step.padding).max(1e-3),
            })
            .collect();
        let accumulation = usize::try_from(probe.accumulation).unwrap_or(1);
        let profile = Profile::of(
            &probe.entries,
            probe.first_step() - 1,
            accumulation,
            &times,
            probe.wall.as_secs_f64(),
        );
        let is_gpu = plan.model_devices.iter().any(|d| d.backend != Backend::Cpu);
        Self {
            machine,
            devices: devices(plan),
            strategy: plan.strategy,
            batch_size: plan.batch_size,
            workers: plan.workers,
            ring_depth: plan.ring_depth,
            precision: plan.precision,
            device_work: DeviceWork::of(probe, timed, &profile, is_gpu),
            profile,
        }
    }

    /// Returns what a trace says about itself.
    fn about(&self) -> Map<String, Value> {
        let about = json!({
            "program": format!("myxtts {}", env!("CARGO_PKG_VERSION")),
            "machine": self.machine,
            "devices": self.devices,
            "strategy": self.strategy,
            "batch_size": self.batch_size,
            "workers": self.workers,
        });
        match about {
            Value::Object(about) => about,
            _ => Map::new(),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}, {} cores", self.machine.name, self.machine.cores)?;
        writeln!(
            f,
            "the GPT stage on {}: batch size {}, {}, {}, device ring of {}\n",
            self.devices,
            self.batch_size,
            match self.workers {
                1 => "1 worker".to_owned(),
                workers => format!("{workers} workers"),
            },
            self.precision.name(),
            self.ring_depth,
        )?;
        write!(f, "{}", self.profile)?;
        write!(f, "{}", self.device_work)
    }
}
