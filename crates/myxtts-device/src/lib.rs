//! Devices: what the machine has, and what a training will do with it.
//!
//! ```text
//! discover ──> Machine ─┐
//!                       ├─> plan() ──> Plan ──> open()
//! configuration ────────┘
//! ```
//!
//! [`discover`] lists devices without opening any. [`plan()`](plan()) is a pure
//! function from what was asked and what was found to a [`Plan`], or to an error
//! that says what, where, why and how to fix it. Only [`open`] touches a device,
//! and only one that the plan names.

mod config;
pub mod discover;
mod engine_error;
mod fusion;
mod kernels;
mod launches;
mod machine;
mod nccl;
mod open;
mod panics;
mod pinned;
mod plan;
mod preset;
mod reading;
mod software;
mod strategy;
pub mod telemetry;

pub use config::{
    BackendChoice, CollectiveChoice, GpuProfile, MemoryCheck, MomentBits, MomentsChoice,
    PipelineConfig, Precision, PrecisionChoice, RecomputeChoice, StrategyConfig,
};
pub use engine_error::EngineError;
pub use fusion::set_fusion;
pub use kernels::{KernelWatch, Settling};
pub use launches::{KernelUse, Launches};
pub use machine::{Adapter, Backend, BackendReport, Gpu, GpuKind, Host, Machine};
pub use nccl::has_nccl;
pub use open::{OpenError, open};
pub use panics::{check_for_oom, oom_line};
pub use plan::{
    ClipsPerStep, DeviceMemory, LongestShape, MemoryNeeds, Mode, Plan, PlanError, PlanRequest,
    PlannedDevice, Savings, Share, TooLarge, Verdict, Workload, plan,
};
pub use preset::{Preset, presets};
pub use reading::Reading;
pub use software::{SOFTWARE_GPUS_VARIABLE, SoftwareGpuError, SoftwareGpus};
pub use strategy::{Strategy, StrategyError};
