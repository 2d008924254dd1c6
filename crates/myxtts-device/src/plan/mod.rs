//! The plan: everything that is decided before a device is touched.
//!
//! `plan()` is pure. Each decision leaves a sentence in `reasons`. A start value
//! that nobody asked for may be adjusted to the machine; a value that somebody
//! asked for is honoured or refused (or, with `allow_fallback`, replaced and
//! listed in `given_up`).

mod budget;
mod buffers;
mod devices;
mod display;
mod fitting;
mod memory;
mod precision;
mod savings;

use std::collections::BTreeSet;
use std::sync::Arc;

use myxtts_base::report;
use myxtts_config::units::{Megabytes, Seconds};
use serde::Serialize;
use thiserror::Error;

use crate::config::{BackendChoice, CollectiveChoice, PipelineConfig, Precision, StrategyConfig};
use crate::machine::{Adapter, Backend, Gpu, Machine};
use crate::strategy::{Strategy, StrategyError};

use buffers::Buffers;
use devices::Devices;
pub use fitting::TooLarge;
use fitting::{Fitted, Sizing};
pub use memory::{ClipsPerStep, DeviceMemory, LongestShape, MemoryNeeds, Share, Verdict, Workload};
pub use savings::Savings;

/// What the configuration asks of the devices.
#[derive(Clone, Debug, Default)]
pub struct PlanRequest {
    /// The choice of devices and of how the work is spread.
    pub strategy: StrategyConfig,
    /// The placement of the data work, buffers, workers and budgets.
    pub pipeline: PipelineConfig,
    /// Keys (`section.key`) that a person set, as opposed to defaults and presets.
    pub chosen: BTreeSet<String>,
    /// What the training needs of a device's memory; without it, memory is not checked.
    pub workload: Option<Arc<dyn Workload>>,
}

impl PlanRequest {
    fn is_chosen(&self, key: &str) -> bool {
        self.chosen.contains(key)
    }
}

/// How the pipeline uses the devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// The data work and the model share each device.
    SingleGpuBuffered,
    /// The data work has a GPU of its own.
    MultiGpu,
}

/// A device and its part in the plan.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlannedDevice {
    /// The number within this run: the data device first, then the model devices.
    pub logical: u32,
    /// The id in `myxtts devices`.
    pub physical: u32,
    /// The backend that reaches it.
    pub backend: Backend,
    /// The name of the card or processor.
    pub name: String,
    /// The memory it may use. Without memory isolation that is all it has, where
    /// that is known.
    pub memory_budget_mb: Option<Megabytes>,
    /// How the engine finds it.
    pub adapter: Adapter,
}

/// Everything that is decided before a device is touched. It does not change afterwards.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plan {
    /// How the work is spread.
    pub strategy: Strategy,
    /// How the pipeline uses the devices.
    pub mode: Mode,
    /// Where data is prepared. With the Mirrored strategy each replica prepares
    /// its own, and this is the first.
    pub data_device: PlannedDevice,
    /// Where the model trains, one device for each replica.
    pub model_devices: Vec<PlannedDevice>,
    /// The most batches in flight, in all stages together.
    #[serde(rename = "buffer_size")]
    pub in_flight: u32,
    /// Batches in flight at the start.
    #[serde(rename = "buffer_start")]
    pub in_flight_start: u32,
    /// The most memory that batches take while they wait on the host.
    pub buffer_mb: Megabytes,
    /// The most batches in the ring on the device; 0 means there is no ring.
    #[serde(rename = "device_prefetch")]
    pub ring_depth: u32,
    /// Batches in that ring at the start.
    #[serde(rename = "prefetch_start")]
    pub ring_depth_start: u32,
    /// Host threads that prepare batches.
    pub workers: u32,
    /// Rows of the longest shape in a batch, on each model device; batches of
    /// shorter clips have more.
    pub batch_size: u32,
    /// Batches per optimizer step.
    pub gradient_accumulation_steps: u32,
    /// Rows of the longest shape per optimizer step: batch x accumulation x replicas.
    pub rows_per_step: u64,
    /// The longest shape, if a workload was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub longest: Option<LongestShape>,
    /// Clips per optimizer step, if the clips are known.
    pub clips_per_step: Option<ClipsPerStep>,
    /// What each device is estimated to need, and what it has.
    pub memory: Vec<DeviceMemory>,
    /// The precision to compute in.
    pub precision: Precision,
    /// How memory is saved.
    #[serde(flatten)]
    pub savings: Savings,
    /// Whether shapes come from a small closed set.
    pub static_shapes: bool,
    /// Whether kernels are fused; `None` on the CPU, which has none to fuse.
    pub graph_mode: Option<bool>,
    /// What averages the gradients of replicas, as asked for.
    pub collective: CollectiveChoice,
    /// Whether workers and ring depth follow the measured waits.
    pub adaptive_prefetch: bool,
    /// The longest wait for the buffer to fill before the first step in Multi-GPU Mode.
    pub model_start_delay: Seconds,
    /// Whether the memory budgets are enforced.
    pub memory_isolation: bool,
    /// A sentence for each decision.
    pub reasons: Vec<String>,
    /// Things worth knowing that nobody did wrong.
    pub notices: Vec<String>,
    /// What `allow_fallback` gave up.
    pub given_up: Vec<String>,
    /// The lines that name the strategy, in the words people know.
    #[serde(skip)]
    strategy_lines: Vec<String>,
}

/// A request that cannot be carried out on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PlanError {
    /// The GPUs do not fit the request.
    #[error(transparent)]
    Strategy(#[from] StrategyError),
    /// A backend was named that has no device.
    #[error("{}", report!(
        "the backend {backend} has no GPU to use";
        asked: "training.backend {backend}";
        found: "{found}";
        fix: "see `myxtts devices`, or set training.backend to auto"
    ))]
    Backend {
        /// The backend that was named.
        backend: Backend,
        /// Why it has no GPU.
        found: String,
    },
    /// A precision was named that a device cannot compute.
    #[error("{}", report!(
        "{device} cannot compute in {asked}";
        asked: "precision {asked}";
        found: "{found}";
        fix: "choose one of those, or `auto`"
    ))]
    Precision {
        /// The label and name of the device.
        device: String,
        /// The precision that was asked for.
        asked: &'static str,
        /// The precisions the device has.
        found: String,
    },
    /// A memory budget is larger than the device.
    #[error("{}", report!(
        "the memory budgets do not fit {device}";
        asked: "{asked}";
        found: "{found}";
        fix: "{fix}"
    ))]
    Budget {
        /// The label and name of the device.
        device: String,
        /// The budgets that were asked for.
        asked: String,
        /// The memory there is.
        found: String,
        /// Budgets that would fit.
        fix: String,
    },
    /// By the estimate, the training needs more memory than a device has.
    #[error(transparent)]
    Memory(Box<TooLarge>),
    /// The device ring is larger than the number of batches that may be in flight.
    #[error("{}", report!(
        "the device ring does not fit the buffer";
        asked: "data.prefetch_buffer_size {ring}, data.pipeline_buffer_size {buffer}";
        found: "the buffer bounds all batches in flight, and the host needs one of them";
        fix: "set prefetch_buffer_size to at most {most}, or pipeline_buffer_size to at least {least}"
    ))]
    Ring {
        /// Batches asked for on the device.
        ring: u32,
        /// Batches allowed in flight.
        buffer: u32,
        /// The largest ring that fits the buffer.
        most: u32,
        /// The smallest buffer that the ring fits.
        least: u32,
    },
}

/// The sentences that the decisions leave behind.
#[derive(Default)]
struct Record {
    reasons: Vec<String>,
    given_up: Vec<String>,
}

impl Record {
    fn because(&mut self, reason: impl Into<String>) {
        self.reasons.push(reason.into());
    }
}

/// Decides everything, or says why it cannot be done.
#[deny(unused_variables)]
pub fn plan(request: &PlanRequest, machine: &Machine) -> Result<Plan, PlanError> {
    // Every key is named here, so that one nothing is made of does not compile.
    let StrategyConfig {
        // `Devices::choose` takes these.
        multi_gpu: _,
        visible_gpus: _,
        backend: _,
        allow_fallback: _,
        // The profile chose some of the others when the presets were merged.
        gpu_profile: _,
        gradient_accumulation_steps,
        precision,
        // `fitting::fit` takes these.
        recompute: _,
        moments: _,
        adapters: _,
        enable_graph_mode,
        // `Decided::into_plan` takes this.
        collective: _,
    } = request.strategy;
    let PipelineConfig {
        batch_size,
        // `Buffers::decide` takes these.
        num_workers: _,
        pipeline_buffer_size: _,
        prefetch_to_gpu: _,
        prefetch_buffer_size: _,
        optimize_cpu_gpu_overlap: _,
        // `Devices::choose` and `Devices::within` take these.
        data_gpu: _,
        model_gpu: _,
        data_gpu_memory: _,
        model_gpu_memory: _,
        enable_memory_isolation: _,
        memory_check,
        static_shapes,
        // `Decided::into_plan` takes this.
        model_start_delay: _,
    } = request.pipeline;
    let mut record = Record::default();
    let devices = Devices::choose(request, machine, &mut record)?;
    let devices = devices.within(request, &mut record)?;
    let buffers = Buffers::decide(request, &machine.host, devices.replicas(), &mut record)?;
    let precision = precision::choose(request, precision, &devices.model_gpus, &mut record)?;
    let sizes = [batch_size, gradient_accumulation_steps];
    let held = fitting::Devices::of(&devices, &buffers, precision);
    let fitted = fitting::fit(request, sizes, memory_check, &held, &mut record)?;
    record.because(about_shapes(static_shapes));
    let strategy = devices.placement.strategy;
    let decided = Decided {
        graph_mode: graph_mode(request, strategy, enable_graph_mode, &mut record),
        devices,
        buffers,
        precision,
        fitted,
    };
    Ok(decided.into_plan(request, record))
}

/// What was decided, before it is put down as a plan.
struct Decided<'m> {
    devices: Devices<'m>,
    buffers: Buffers,
    precision: Precision,
    fitted: Fitted,
    graph_mode: Option<bool>,
}

impl Decided<'_> {
    fn into_plan(self, request: &PlanRequest, record: Record) -> Plan {
        let replicas = self.devices.replicas();
        let placement = self.devices.placement;
        let Fitted {
            sizing,
            memory,
            notices,
        } = self.fitted;
        let Sizing {
            batch_size,
            accumulation,
            savings,
        } = sizing;
        let per_step = accumulation.saturating_mul(replicas);
        let workload = request.workload.as_deref();
        let clips = workload.and_then(|workload| workload.clips(batch_size, replicas));
        Plan {
            strategy: placement.strategy,
            mode: match self.devices.has_data_gpu {
                true => Mode::MultiGpu,
                false => Mode::SingleGpuBuffered,
            },
            data_device: self.devices.data,
            model_devices: self.devices.models,
            in_flight: request.pipeline.pipeline_buffer_size,
            in_flight_start: self.buffers.starts.in_flight,
            buffer_mb: self.buffers.host_bytes,
            ring_depth: self.buffers.ring_depth,
            ring_depth_start: self.buffers.starts.prefetch,
            workers: self.buffers.workers,
            batch_size,
            gradient_accumulation_steps: accumulation,
            rows_per_step: u64::from(batch_size) * u64::from(per_step),
            longest: workload.map(Workload::longest),
            clips_per_step: clips.map(|clips| clips.times(accumulation)),
            memory,
            precision: self.precision,
            savings,
            static_shapes: request.pipeline.static_shapes,
            graph_mode: self.graph_mode,
            collective: request.strategy.collective,
            adaptive_prefetch: request.pipeline.optimize_cpu_gpu_overlap,
            model_start_delay: request.pipeline.model_start_delay,
            memory_isolation: request.pipeline.enable_memory_isolation,
            reasons: record.reasons,
            notices: placement.notices.into_iter().chain(notices).collect(),
            given_up: record.given_up,
            strategy_lines: placement.lines,
        }
    }
}

/// Says what static shapes, or their absence, mean for the kernels.
fn about_shapes(are_static: bool) -> &'static str {
    match are_static {
        true => "static shapes are on: nothing recompiles after warm-up",
        false => "static shapes are off: every new length may compile kernels again",
    }
}

/// Decides whether kernels are fused; `None` on the CPU, which has none to fuse.
fn graph_mode(
    request: &PlanRequest,
    strategy: Strategy,
    enable: bool,
    record: &mut Record,
) -> Option<bool> {
    let graph_mode = (strategy != Strategy::Cpu).then_some(enable);
    match graph_mode {
        Some(true) => {}
        Some(false) => {
            record.because("kernel fusion is off: every operation runs on its own, for debugging");
        }
        None if !enable => record.because(
            "kernel fusion is off as asked: on the CPU every operation runs on its own anyway",
        ),
        None if request.is_chosen("training.enable_graph_mode") => {
            record.because("kernel fusion was asked for and is for GPUs: the CPU has none");
        }
        None => {}
    }
    graph_mode
}

fn choose_backend<'m>(
    request: &PlanRequest,
    choice: BackendChoice,
    machine: &'m Machine,
    record: &mut Record,
) -> Result<&'m [Gpu], PlanError> {
    let gpus = machine.gpus(choice);
    let named = match choice {
        BackendChoice::Auto => {
            match gpus.first().map(|gpu| gpu.backend) {
                Some(Backend::Assumed) => record.because("the GPUs are imaginary"),
                Some(first) => record.because(format!("{first} is the first backend with a GPU")),
                None => {}
            }
            return Ok(gpus);
        }
        BackendChoice::Cpu => {
            record.because("training.backend is cpu, so no GPU is used");
            return Ok(&[]);
        }
        BackendChoice::Wgpu => Backend::Wgpu,
        BackendChoice::Vulkan => Backend::Vulkan,
        BackendChoice::Metal => Backend::Metal,
        BackendChoice::Cuda => Backend::Cuda,
        BackendChoice::Rocm => Backend::Rocm,
    };
    if !gpus.is_empty() {
        record.because(format!("training.backend is {named}"));
        return Ok(gpus);
    }
    let report = machine
        .backends
        .iter()
        .find(|report| report.backend == named);
    let found = report
        .and_then(|report| report.unavailable.clone())
        .unwrap_or_else(|| "no GPU".to_owned());
    if request.strategy.allow_fallback {
        record
            .given_up
            .push(format!("training.backend {named} was given up: {found}"));
        return Ok(machine.gpus(BackendChoice::Auto));
    }
    Err(PlanError::Backend {
        backend: named,
        found,
    })
}

fn gpu_device(logical: u32, gpu: &Gpu) -> PlannedDevice {
    PlannedDevice {
        logical,
        physical: gpu.id,
        backend: gpu.backend,
        name: gpu.name.clone(),
        memory_budget_mb: gpu.memory.value().copied(),
        adapter: gpu.adapter,
    }
}

fn cpu_device(machine: &Machine) -> PlannedDevice {
    PlannedDevice {
        logical: 0,
        physical: 0,
        backend: Backend::Cpu,
        name: machine.host.name.clone(),
        memory_budget_mb: Some(machine.host.memory),
        adapter: Adapter::Cpu,
    }
}
