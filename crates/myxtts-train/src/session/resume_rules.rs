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
    let old = completed(old.cloned().unwrap_or(Value::Null));
    let comparison = compare(&old, &job.config, &resume_rules());
    comparison.check().map_err(TrainError::usage)?;
    Ok(comparison.notices().collect())
}

/// Keys of `data` that decide the batches and are younger than some runs, with what those
/// runs did.
const YOUNGER: [(&str, Value); 1] = [("split_long", Value::Bool(false))];

/// Adds to the configuration of a checkpoint the keys that its version did not have.
fn completed(mut old: Value) -> Value {
    if let Some(data) = old.get_mut("data").and_then(Value::as_object_mut) {
        for (key, value) in YOUNGER {
            data.entry(key).or_insert(value);
        }
    }
    old
}
