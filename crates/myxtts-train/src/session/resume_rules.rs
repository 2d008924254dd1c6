//! Whether a run may resume under a changed configuration.

use myxtts_run::checkpoint::Checkpoint;
use myxtts_run::config_diff::compare;
use serde_json::Value;

use super::job::Job;
use crate::config::resume_rules;
use crate::error::TrainError;

/// Compares the configuration of a checkpoint with the job's. Returns messages about what has
/// changed, or refuses.
pub(crate) fn check(checkpoint: &Checkpoint, job: &Job) -> Result<Vec<String>, TrainError> {
    let old = checkpoint.manifest().sections.get("config");
    let comparison = compare(old.unwrap_or(&Value::Null), &job.config, &resume_rules());
    comparison.check().map_err(TrainError::usage)?;
    Ok(comparison.notices().collect())
}
