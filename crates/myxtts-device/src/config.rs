//! The configuration keys that place the work and bound the buffers.

use myxtts_config::units::{Megabytes, Seconds};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Keys of `training` that choose devices.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StrategyConfig {
    /// Train in mirrored data parallel over the visible GPUs. This is a permission:
    /// with one GPU or none, training runs on what there is and says so.
    pub multi_gpu: bool,
    /// What averages the gradients of the replicas: `auto` uses NCCL between CUDA
    /// GPUs if its library is installed, and the host otherwise.
    pub collective: CollectiveChoice,
    /// The GPUs that may be used, by the ids that `myxtts devices` lists, in order
    /// of preference.
    #[schemars(extend("x-unset" = "all"))]
    pub visible_gpus: Option<Vec<u32>>,
    /// The backend whose GPUs are used. `auto` takes the first of cuda, rocm, metal,
    /// vulkan and wgpu that has a GPU, and the CPU if none has.
    pub backend: BackendChoice,
    /// Named start values for batch size, accumulation, workers and prefetch.
    pub gpu_profile: GpuProfile,
    /// Number of batches whose gradients are added up before each step; multiplies
    /// the effective batch size.
    #[schemars(range(min = 1, max = 1024))]
    pub gradient_accumulation_steps: u32,
    /// Compute precision. Master weights stay f32; `auto` takes bf16 on GPUs that
    /// support it and f32 elsewhere.
    pub precision: PrecisionChoice,
    /// What the backward pass does about the GPT's blocks. `off` keeps all that they
    /// computed; `blocks` keeps the input of each and computes the rest again, for a
    /// fraction of the memory and the time of one more forward pass, with the same gradients.
    /// `auto` is `off` where that fits the device, and `blocks` elsewhere.
    pub recompute: RecomputeChoice,
    /// How the optimizer keeps its two moments of every weight between steps: `f32`, or
    /// `int8`, which takes a quarter of the memory and rounds them. `auto` is `f32`, unless
    /// nothing fits the device with it.
    pub moments: MomentsChoice,
    /// The rank of adapters (LoRA), which a GPT of `init` learns in place of its weights: those
    /// are frozen but for the text's embedding and head, and need neither gradients nor moments.
    /// The models in checkpoints have the adapters merged into their weights. 0 trains the
    /// weights themselves; `auto` does, unless nothing fits the device, and takes 16 then.
    #[schemars(range(min = 0, max = 512))]
    pub adapters: Option<u32>,
    /// Kernel fusion on GPUs. When off, every operation is a kernel of its own, for
    /// debugging. The CPU has no fusion.
    pub enable_graph_mode: bool,
    /// Replace a mode that cannot be honoured with the nearest one that can. When
    /// off, such a mode is an error.
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
            recompute: RecomputeChoice::Auto,
            moments: MomentsChoice::Auto,
            adapters: None,
            enable_graph_mode: true,
            allow_fallback: false,
        }
    }
}

/// Keys of `data` that place the data work and bound what is in flight.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PipelineConfig {
    /// Clips in a batch of the longest clips, on each model device. Batches of
    /// shorter clips hold more of them and need no more memory.
    #[schemars(range(min = 1, max = 4096))]
    pub batch_size: u32,
    /// Host threads that prepare batches. `auto` takes as many as the machine can
    /// use beside the thread that launches kernels.
    #[schemars(range(min = 1, max = 1024))]
    pub num_workers: Option<u32>,
    /// Largest number of prepared batches in flight, all stages together. Their
    /// bytes are bounded as well, by an eighth of the host's memory.
    #[schemars(range(min = 2, max = 100_000))]
    pub pipeline_buffer_size: u32,
    /// Keep a ring of ready batches on the device. When off, a batch is made there
    /// when a step asks for it.
    pub prefetch_to_gpu: bool,
    /// Largest number of batches in the device-side ring.
    #[schemars(range(min = 1, max = 100_000))]
    pub prefetch_buffer_size: u32,
    /// Adjust workers, ring depth and read-ahead to the measured waits, within the
    /// bounds of the plan.
    pub optimize_cpu_gpu_overlap: bool,
    /// Longest wait, in seconds, for the buffer to fill before the first step
    /// in Multi-GPU Mode, counted from when the devices are ready.
    #[schemars(range(min = 0.0, max = 3600.0))]
    pub model_start_delay: Seconds,
    /// The GPU that prepares data. Setting `model_gpu` as well selects Multi-GPU Mode.
    #[schemars(extend("x-unset" = "none"))]
    pub data_gpu: Option<u32>,
    /// The GPU that trains the model. Setting `data_gpu` as well selects Multi-GPU Mode.
    #[schemars(extend("x-unset" = "none"))]
    pub model_gpu: Option<u32>,
    /// What to do if the estimated memory is more than a device has: `refuse`
    /// shrinks a batch size that you did not choose and refuses one that you did;
    /// `warn` tries it as it is.
    pub memory_check: MemoryCheck,
    /// Enforce the two memory budgets below: a training estimated to exceed them is
    /// refused, and one that exceeds them while running stops.
    pub enable_memory_isolation: bool,
    /// Memory budget for the data work under memory isolation, in MB.
    #[schemars(range(min = 64, max = 1_048_576))]
    pub data_gpu_memory: Megabytes,
    /// Memory budget for the model under memory isolation, in MB.
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

/// What the backward pass computes again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the key's doc says it")]
pub enum RecomputeChoice {
    Off,
    Blocks,
    Auto,
}

/// How AdamW keeps its moments between steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the key's doc says it")]
pub enum MomentsChoice {
    Auto,
    F32,
    Int8,
}

/// The bits of a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names say it")]
pub enum MomentBits {
    F32,
    Int8,
}

impl MomentBits {
    /// Returns the name as files spell it.
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::Int8 => "int8",
        }
    }
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
