//! The configuration of a training: what people write in files, section by
//! section.
//!
//! Inside a section each component's struct stands beside the component: here
//! those of the trainer, elsewhere those of recordings, audio and devices. Who
//! puts defaults, presets, files and flags together is the command line.

mod model;
mod optimizer;
mod resume;
mod run;

use myxtts_audio::AudioConfig;
use myxtts_data::config::{DatasetConfig, ShapeConfig};
use myxtts_device::{PipelineConfig, StrategyConfig};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) use model::least_steps;
pub use model::{ModelConfig, Sizes, quirks_layer, size_layer};
pub use optimizer::{OptimizationLevel, OptimizerConfig, ScheduleKind};
pub(crate) use resume::rules as resume_rules;
pub(crate) use run::run_folder;
pub use run::{Resume, ResumeWord, RunConfig, StageName, StageWord, Stages, quick_layer};

/// Configuration of myxtts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Config {
    /// Recordings, features, batches and the pipeline that carries them.
    pub data: DataSection,
    /// The model.
    pub model: ModelConfig,
    /// Devices, optimization and the run.
    pub training: TrainingSection,
}

/// The section `data`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[expect(missing_docs, reason = "the names are those of the types")]
pub struct DataSection {
    #[serde(flatten)]
    pub dataset: DatasetConfig,
    #[serde(flatten)]
    pub audio: AudioConfig,
    #[serde(flatten)]
    pub shapes: ShapeConfig,
    #[serde(flatten)]
    pub pipeline: PipelineConfig,
}

/// The section `training`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[expect(missing_docs, reason = "the names are those of the types")]
pub struct TrainingSection {
    #[serde(flatten)]
    pub run: RunConfig,
    #[serde(flatten)]
    pub optimizer: OptimizerConfig,
    #[serde(flatten)]
    pub strategy: StrategyConfig,
}
