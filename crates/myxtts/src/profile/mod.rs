//! Measures where the time of a step goes, and what another configuration would gain.
//!
//! [`Subject::stages`] times every stage of the pipeline in this process; [`Subject::compare`]
//! measures the ways to use several devices, and [`Subject::what_if`] one change against none,
//! each in a process of its own (`steps`).

mod compare;
mod device_work;
mod gpu;
mod what_if;

use std::fmt;
use std::io;

use myxtts_base::report;
use myxtts_config::{Keys, Settings};
use myxtts_device::{Backend, Host, Machine, Plan};
use myxtts_doctor::Signal;
use myxtts_profile::{Profile, StepTime, svg, write_trace};
use myxtts_run::observer::Observer;
use myxtts_run::signals::StopRequest;
use myxtts_train::placement::Placement;
use myxtts_train::probe::{LaunchesAsked, Probe, ProbeRequest, probe};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::dataset::prepare;
use crate::error::Error;
use crate::request::train_request;
use crate::settings::Config;
use crate::steps::{self, Effort, Extent, Watchdog};
use crate::train::plan;
pub use compare::Comparison;
use device_work::DeviceWork;
pub use gpu::GpuReport;
pub use what_if::WhatIf;

/// The steps whose kernels are timed one by one, after the measured ones.
const TIMED_STEPS: u64 = 2;

/// The configuration that is measured, and the machine it is measured on.
pub struct Subject {
    /// Every key that there is.
    pub keys: Keys,
    /// The configuration.
    pub settings: Settings<Config>,
    /// The machine.
    pub machine: Machine,
}

impl Subject {
    fn plan(&self) -> Result<Plan, Error> {
        plan(&self.settings, &self.machine)
    }

    /// Prepares the dataset before anything is measured. What cannot be trained as asked is
    /// refused here, in the words of `train`.
    fn prepare_once(&self, stop: &StopRequest, observer: &dyn Observer) -> Result<(), Error> {
        steps::prepare_once(&self.settings, &self.plan()?, stop, observer)
    }

    /// Measures the stages for a few steps on the devices of the plan, in this process.
    ///
    /// `bark` is called on a thread of its own when there is no progress for as long as `effort`
    /// allows: a driver that hangs does not return, so it should end the process.
    ///
    /// # Errors
    /// When the configuration cannot be trained on this machine, or a step fails.
    pub fn stages(
        &self,
        effort: Effort,
        bark: impl FnOnce(Error) + Send + 'static,
        observer: &dyn Observer,
    ) -> Result<Report, Error> {
        let measured = self.measure(effort, bark, observer)?;
        Ok(self.report(&measured))
    }

    /// Measures the same as [`stages`](Self::stages), and names the cards, their memory and the
    /// work as well, so that somebody without them can judge the figures.
    ///
    /// # Errors
    /// When the configuration cannot be trained on this machine, or a step fails.
    pub fn gpu(
        &self,
        effort: Effort,
        bark: impl FnOnce(Error) + Send + 'static,
        observer: &dyn Observer,
    ) -> Result<GpuReport, Error> {
        let measured = self.measure(effort, bark, observer)?;
        let profile = self.report(&measured);
        let MeasuredSteps {
            plan, probe, flop, ..
        } = &measured;
        let size = self.settings.config.model.size;
        Ok(GpuReport::new(
            size,
            &self.machine,
            plan,
            probe,
            flop,
            profile,
        ))
    }

    fn report(&self, measured: &MeasuredSteps) -> Report {
        let MeasuredSteps {
            plan, probe, timed, ..
        } = measured;
        Report::new(probe, timed.as_ref(), plan, self.machine.host.clone())
    }

    fn measure(
        &self,
        effort: Effort,
        bark: impl FnOnce(Error) + Send + 'static,
        observer: &dyn Observer,
    ) -> Result<MeasuredSteps, Error> {
        let plan = self.plan()?;
        // Signals end this measurement as they end any program: it keeps nothing.
        let stop = StopRequest::new();
        let dataset = prepare(&self.settings, &stop, observer)?;
        let training = train_request(&self.settings, &plan, dataset, String::new())?;
        let placement = Placement::of(&plan).map_err(Error::failed)?;
        let bark = |ended: steps::Ended| bark(ended.error("the measurement"));
        let watchdog = Watchdog::start(effort.hang_limit, bark)
            .map_err(|why| Error::Failed(report!("no thread can be started: {why}")))?;
        let Effort { steps, seconds, .. } = effort;
        let request = Extent::Steps { steps, seconds }.request(watchdog.listener());
        observer.line(&format!(
            "measuring {} steps of the GPT stage on {}",
            request.steps,
            devices(&plan)
        ));
        let measured = probe(&training, &placement, &request)?;
        let flop = measured.signals(&training, &placement).steps.flop;
        let timed = match placement.has_gpu() && placement.replicas() == 1 {
            true => {
                observer.line("timing kernels one by one");
                let request = ProbeRequest {
                    launches: LaunchesAsked::Timed,
                    steps: TIMED_STEPS,
                    ..request
                };
                Some(probe(&training, &placement, &request)?)
            }
            false => None,
        };
        Ok(MeasuredSteps {
            plan,
            probe: measured,
            timed,
            flop: flop.map(|flop| flop.0),
        })
    }
}

/// Steps that were measured on the devices of a plan.
struct MeasuredSteps {
    plan: Plan,
    probe: Probe,
    /// Further steps, with kernels timed one by one.
    timed: Option<Probe>,
    /// The model's own count of operations in a step.
    flop: Signal<f64>,
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
pub struct Report {
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

    /// Returns the timeline as a trace that Perfetto and Chrome open.
    ///
    /// # Errors
    /// When the trace cannot be written as JSON.
    pub fn trace(&self) -> io::Result<Vec<u8>> {
        let mut text = vec![];
        write_trace(&self.profile, &self.about(), &mut text)?;
        Ok(text)
    }

    /// Returns a picture of a few steps.
    pub fn svg(&self) -> String {
        svg(&self.profile)
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
