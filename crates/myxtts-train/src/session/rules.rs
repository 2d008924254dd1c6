//! What a run that goes on may change.

use myxtts_run::checkpoint::Checkpoint;
use myxtts_run::compare::{Policy, Rule, compare};
use serde_json::Value;

use super::job::Job;
use crate::error::TrainError;

const DATA: &str =
    "the batches would no longer be those of the run; put it back, or start a new run";
const LEARNING: &str = "the steps to come are taken with the new value";

/// The first row that matches counts; what none matches is refused.
const RULES: &[Rule<'static>] = &[
    ("data.num_workers", Policy::Free),
    ("data.pipeline_buffer_size", Policy::Free),
    ("data.prefetch_to_gpu", Policy::Free),
    ("data.prefetch_buffer_size", Policy::Free),
    ("data.optimize_cpu_gpu_overlap", Policy::Free),
    ("data.model_start_delay", Policy::Free),
    ("data.data_gpu", Policy::Free),
    ("data.model_gpu", Policy::Free),
    ("data.memory_check", Policy::Free),
    ("data.enable_memory_isolation", Policy::Free),
    ("data.data_gpu_memory", Policy::Free),
    ("data.model_gpu_memory", Policy::Free),
    ("data.cache", Policy::Free),
    ("data.prepared", Policy::Free),
    ("data.max_bad_fraction", Policy::Free),
    (
        "data.val_data",
        Policy::Notice("validation figures before and after are not of the same clips"),
    ),
    ("training.name", Policy::Free),
    ("training.checkpoint_dir", Policy::Free),
    ("training.resume", Policy::Free),
    ("training.reset_training", Policy::Free),
    (
        "training.epochs",
        Policy::Notice("the stage's length and its learning rates change with it"),
    ),
    (
        "training.dvae_epochs",
        Policy::Notice("the stage's length and its learning rates change with it"),
    ),
    (
        "training.decoder_epochs",
        Policy::Notice("the stage's length and its learning rates change with it"),
    ),
    (
        "training.max_steps",
        Policy::Notice("the stage's length and its learning rates change with it"),
    ),
    ("training.learning_rate", Policy::Notice(LEARNING)),
    ("training.dvae_learning_rate", Policy::Notice(LEARNING)),
    ("training.decoder_learning_rate", Policy::Notice(LEARNING)),
    ("training.generator_learning_rate", Policy::Notice(LEARNING)),
    ("training.decoder_spectral_steps", Policy::Notice(LEARNING)),
    (
        "training.discriminator_warmup_steps",
        Policy::Notice(LEARNING),
    ),
    ("training.lr_schedule", Policy::Notice(LEARNING)),
    ("training.warmup_steps", Policy::Notice(LEARNING)),
    ("training.gradient_clip", Policy::Notice(LEARNING)),
    ("training.label_smoothing", Policy::Notice(LEARNING)),
    ("training.dropout", Policy::Notice(LEARNING)),
    ("training.weight_decay", Policy::Notice(LEARNING)),
    ("training.optimization_level", Policy::Notice(LEARNING)),
    ("training.patience", Policy::Free),
    ("training.bad_steps", Policy::Free),
    ("training.skip_spikes", Policy::Free),
    ("training.validate_every", Policy::Free),
    ("training.sample_every", Policy::Free),
    ("training.sample_texts", Policy::Free),
    ("training.sample_count", Policy::Free),
    ("training.checkpoint_every", Policy::Free),
    ("training.keep_checkpoints", Policy::Free),
    ("training.log_every", Policy::Free),
    (
        "training.backend",
        Policy::Notice("another device rounds differently"),
    ),
    ("training.gpu_profile", Policy::Free),
    ("training.visible_gpus", Policy::Free),
    (
        "training.collective",
        Policy::Notice("means are not rounded alike"),
    ),
    (
        "training.multi_gpu",
        Policy::Refuse(
            "the number of replicas decides the batches; put it back, or start a new run",
        ),
    ),
    (
        "training.precision",
        Policy::Notice("losses before and after are not rounded alike"),
    ),
    ("training.enable_graph_mode", Policy::Free),
    ("training.allow_fallback", Policy::Free),
    ("training.init", Policy::Free),
    (
        "training.stage",
        Policy::Refuse("the stages of a run are fixed; start another run with --init"),
    ),
    ("data.*", Policy::Refuse(DATA)),
    (
        "model.*",
        Policy::Refuse("the weights of the checkpoint are of another size; start a new run"),
    ),
];

/// Compares the configuration of a checkpoint with the job's. Gives what is
/// worth saying, or refuses.
pub(crate) fn check(checkpoint: &Checkpoint, job: &Job) -> Result<Vec<String>, TrainError> {
    let old = checkpoint.manifest().sections.get("config");
    let comparison = compare(old.unwrap_or(&Value::Null), &job.config, RULES);
    comparison
        .check()
        .map_err(|refused| TrainError::Usage(refused.to_string()))?;
    Ok(comparison.notices().collect())
}
