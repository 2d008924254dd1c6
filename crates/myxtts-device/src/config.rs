//! The configuration keys that place the work and bound the buffers.

use myxtts_config::units::{Megabytes, Seconds};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Keys of `training` that choose devices.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StrategyConfig {
    /// Mirrored data parallel over the visible GPUs. A permission: on one GPU
    /// or none the training runs there and says so.
    pub multi_gpu: bool,
    /// Who averages the gradients of replicas; `auto` takes NCCL between CUDA
    /// GPUs where its library is installed, and the host elsewhere.
    pub collective: CollectiveChoice,
    /// The GPUs that may be used, by the ids `myxtts devices` lists, in order
    /// of preference.
    #[schemars(extend("x-unset" = "all"))]
    pub visible_gpus: Option<Vec<u32>>,
    /// The backend whose GPUs are used; `auto` takes the first with a GPU of
    /// cuda, rocm, metal, vulkan, wgpu, and the CPU where there is none.
    pub backend: BackendChoice,
    /// Named start values for batch, accumulation, workers and prefetch.
    pub gpu_profile: GpuProfile,
    /// Batches whose gradients are added before a step; multiplies the
    /// effective batch.
    #[schemars(range(min = 1, max = 1024))]
    pub gradient_accumulation_steps: u32,
    /// Compute precision. Master weights stay f32; `auto` takes bf16 where
    /// the GPU computes it and f32 elsewhere.
    pub precision: PrecisionChoice,
    /// Kernel fusion on GPUs. Off, every operation is a kernel of its own, for
    /// debugging, as on the CPU, which has no fusion.
    pub enable_graph_mode: bool,
    /// Allow a mode that cannot be honoured to be replaced by the nearest one
    /// that can. Without it that is an error.
    pub allow_fallback: bool,
}

impl Default for StrategyConfig {
    fn default() -> Self {
        Self {
            multi_gpu: false,
            collective: CollectiveChoice::Auto,
            visible_gpus: None,
            backend: BackendChoice::Auto,
            gpu_profile: GpuProfile::Auto,
            gradient_accumulation_steps: 1,
            precision: PrecisionChoice::Auto,
            enable_graph_mode: true,
            allow_fallback: false,
        }
    }
}

/// Keys of `data` that place the data work and bound what is in flight.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PipelineConfig {
    /// Clips of the greatest length in a batch, on each model device; batches
    /// of shorter clips have more of them, and need no more memory.
    #[schemars(range(min = 1, max = 4096))]
    pub batch_size: u32,
    /// Host threads that prepare batches; `auto` takes what the machine can
    /// use beside the thread that launches kernels.
    #[schemars(range(min = 1, max = 1024))]
    pub num_workers: Option<u32>,
    /// Bound on prepared batches in flight, all stages together; also bounded
    /// in bytes, by an eighth of the host's memory.
    #[schemars(range(min = 2, max = 100_000))]
    pub pipeline_buffer_size: u32,
    /// Keep a ring of ready batches on the device; without it a batch is made
    /// there when a step asks for it.
    pub prefetch_to_gpu: bool,
    /// Most batches in the device-side ring.
    #[schemars(range(min = 1, max = 100_000))]
    pub prefetch_buffer_size: u32,
    /// Let workers, ring depth and read-ahead follow the measured waits,
    /// within the bounds of the plan.
    pub optimize_cpu_gpu_overlap: bool,
    /// Longest wait, in seconds, for the buffer to fill before the first step
    /// in Multi-GPU Mode, counted from when the devices are ready.
    #[schemars(range(min = 0.0, max = 3600.0))]
    pub model_start_delay: Seconds,
    /// The GPU that prepares data. With `model_gpu`: Multi-GPU Mode.
    #[schemars(extend("x-unset" = "none"))]
    pub data_gpu: Option<u32>,
    /// The GPU that trains the model. With `data_gpu`: Multi-GPU Mode.
    #[schemars(extend("x-unset" = "none"))]
    pub model_gpu: Option<u32>,
    /// What to do where the estimated memory is more than a device has:
    /// `refuse` shrinks a batch size nobody chose and refuses one somebody
    /// chose; `warn` tries it as it is.
    pub memory_check: MemoryCheck,
    /// Enforce the two memory budgets below: what is estimated above them is
    /// refused, and a training that holds more than them stops.
    pub enable_memory_isolation: bool,
    /// Memory budget of the data work, in MB, under memory isolation.
    #[schemars(range(min = 64, max = 1_048_576))]
    pub data_gpu_memory: Megabytes,
    /// Memory budget of the model, in MB, under memory isolation.
    #[schemars(range(min = 64, max = 1_048_576))]
    pub model_gpu_memory: Megabytes,
    /// Use a small closed set of shapes, so that nothing recompiles after
    /// warm-up.
    pub static_shapes: bool,
}

impl Default for PipelineConfig {
    fn default() -> Self {
        Self {
            batch_size: 16,
            num_workers: None,
            pipeline_buffer_size: 50,
            prefetch_to_gpu: true,
            prefetch_buffer_size: 16,
            optimize_cpu_gpu_overlap: true,
            model_start_delay: Seconds(2.0),
            data_gpu: None,
            model_gpu: None,
            memory_check: MemoryCheck::Refuse,
            enable_memory_isolation: false,
            data_gpu_memory: Megabytes(8192),
            model_gpu_memory: Megabytes(16384),
            static_shapes: true,
        }
    }
}

/// What follows from an estimate that is more than a device has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names say it")]
pub enum MemoryCheck {
    Refuse,
    Warn,
}

/// Which backend to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names say it")]
pub enum BackendChoice {
    Auto,
    Cpu,
    Wgpu,
    Vulkan,
    Metal,
    Cuda,
    Rocm,
}

/// Who averages the gradients of replicas.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names say it")]
pub enum CollectiveChoice {
    Auto,
    Host,
}

/// Named settings per card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names say it")]
pub enum GpuProfile {
    Auto,
    Rtx4090,
    Rtx3090,
    Rtx3080,
    Rtx3060,
}

/// Which precision to compute in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names say it")]
pub enum PrecisionChoice {
    Auto,
    F32,
    Bf16,
    F16,
}

/// A precision to compute in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names say it")]
pub enum Precision {
    F32,
    Bf16,
    F16,
}

impl Precision {
    /// Returns the name as flags and files spell it.
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::Bf16 => "bf16",
            Self::F16 => "f16",
        }
    }
}
