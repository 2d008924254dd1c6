//! The plan: everything that is decided before a device is touched.
//!
//! `plan()` is pure. Each decision leaves a sentence in `reasons`. A start value
//! that nobody asked for may be adjusted to the machine; a value that somebody
//! asked for is honoured or refused (or, with `allow_fallback`, replaced and
//! listed in `given_up`).

mod budget;
mod buffers;
mod display;
mod memory;
mod precision;

use std::collections::BTreeSet;
use std::sync::Arc;

use myxtts_base::report;
use myxtts_config::units::{Megabytes, Seconds};
use serde::Serialize;
use thiserror::Error;

use crate::config::{BackendChoice, CollectiveChoice, PipelineConfig, Precision, StrategyConfig};
use crate::machine::{Adapter, Backend, Gpu, Machine};
use crate::strategy::{Asked, Strategy, StrategyError, place};

pub use memory::{
    ClipsPerStep, DeviceMemory, LongestShape, MemoryNeeds, Share, TooLarge, Verdict, Workload,
};

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
        multi_gpu,
        collective,
        ref visible_gpus,
        backend,
        // The profile chose some of the others when the presets were merged.
        gpu_profile: _,
        gradient_accumulation_steps,
        precision,
        enable_graph_mode,
        allow_fallback,
    } = request.strategy;
    let PipelineConfig {
        batch_size,
        num_workers,
        pipeline_buffer_size,
        prefetch_to_gpu,
        prefetch_buffer_size,
        optimize_cpu_gpu_overlap,
        model_start_delay,
        data_gpu,
        model_gpu,
        memory_check,
        enable_memory_isolation,
        data_gpu_memory,
        model_gpu_memory,
        static_shapes,
    } = request.pipeline;
    let mut record = Record::default();
    let gpus = choose_backend(request, backend, machine, &mut record)?;
    let ids: Vec<u32> = gpus.iter().map(|gpu| gpu.id).collect();
    let asked = Asked {
        multi_gpu,
        visible_gpus: visible_gpus.as_deref(),
        data_gpu,
        model_gpu,
        allow_fallback,
    };
    let placement = place(asked, &ids)?;
    record.reasons.insert(0, placement.reason);
    record.given_up.extend(placement.given_up);

    let gpu_of = |id: &u32| gpus.iter().find(|gpu| gpu.id == *id);
    let model_gpus: Vec<&Gpu> = placement.models.iter().filter_map(gpu_of).collect();
    let data_gpu = placement.data.as_ref().and_then(gpu_of);
    let first = u32::from(data_gpu.is_some());
    let mut model_devices: Vec<PlannedDevice> = match model_gpus.as_slice() {
        [] => vec![cpu_device(machine)],
        gpus => (first..)
            .zip(gpus)
            .map(|(logical, gpu)| gpu_device(logical, gpu))
            .collect(),
    };
    let mut data_device = match data_gpu {
        Some(gpu) => gpu_device(0, gpu),
        None => model_devices[0].clone(),
    };
    if placement.strategy == Strategy::Mirrored {
        record.because("each replica prepares the data of its own shard on its own GPU");
    }
    let budgets = enable_memory_isolation.then_some(budget::Budgets {
        data: data_gpu_memory,
        model: model_gpu_memory,
    });
    budget::assign(
        request,
        budgets,
        &mut data_device,
        &mut model_devices,
        &mut record,
    )?;

    let workers = buffers::workers(request, num_workers, &machine.host, &mut record);
    let ring = prefetch_to_gpu.then_some(prefetch_buffer_size);
    let ring_depth = buffers::ring_depth(request, ring, pipeline_buffer_size, &mut record)?;
    let lanes = u32::try_from(model_devices.len()).unwrap_or(u32::MAX);
    let starts = buffers::starts(
        request,
        optimize_cpu_gpu_overlap,
        [pipeline_buffer_size, ring_depth],
        lanes,
        &mut record,
    );
    let precision = precision::choose(request, precision, &model_gpus, &mut record)?;
    let devices = memory::Devices {
        data: &data_device,
        models: &model_devices,
        precision,
        ring: ring_depth,
        in_flight: starts.in_flight,
        host_ring: buffers::host_bytes(&machine.host),
    };
    let sizes = [batch_size, gradient_accumulation_steps];
    let fitted = memory::fit(request, sizes, memory_check, &devices, &mut record)?;
    let replicas = u32::try_from(model_devices.len()).unwrap_or(u32::MAX);
    let per_step = fitted.accumulation.saturating_mul(replicas);
    let workload = request.workload.as_deref();
    let clips = workload.and_then(|workload| workload.clips(fitted.batch_size, replicas));
    let clips_per_step = clips.map(|clips| clips.times(fitted.accumulation));
    let mut notices = placement.notices;
    notices.extend(fitted.notices);
    record.because(match static_shapes {
        true => "static shapes are on: nothing recompiles after warm-up",
        false => "static shapes are off: every new length may compile kernels again",
    });
    let graph_mode = (placement.strategy != Strategy::Cpu).then_some(enable_graph_mode);
    match graph_mode {
        Some(true) => {}
        Some(false) => {
            record.because("kernel fusion is off: every operation runs on its own, for debugging");
        }
        None if !enable_graph_mode => record.because(
            "kernel fusion is off as asked: on the CPU every operation runs on its own anyway",
        ),
        None if request.is_chosen("training.enable_graph_mode") => {
            record.because("kernel fusion was asked for and is for GPUs: the CPU has none");
        }
        None => {}
    }
    Ok(Plan {
        strategy: placement.strategy,
        mode: if data_gpu.is_some() {
            Mode::MultiGpu
        } else {
            Mode::SingleGpuBuffered
        },
        data_device,
        model_devices,
        in_flight: pipeline_buffer_size,
        in_flight_start: starts.in_flight,
        buffer_mb: buffers::host_bytes(&machine.host),
        ring_depth,
        ring_depth_start: starts.prefetch,
        workers,
        batch_size: fitted.batch_size,
        gradient_accumulation_steps: fitted.accumulation,
        rows_per_step: u64::from(fitted.batch_size) * u64::from(per_step),
        longest: workload.map(Workload::longest),
        clips_per_step,
        memory: fitted.memory,
        precision,
        static_shapes,
        graph_mode,
        collective,
        adaptive_prefetch: optimize_cpu_gpu_overlap,
        model_start_delay,
        memory_isolation: enable_memory_isolation,
        reasons: record.reasons,
        notices,
        given_up: record.given_up,
        strategy_lines: placement.lines,
    })
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
