//! The clips that a run does without, and why.

use std::io::Write;
use std::sync::Arc;

use myxtts_base::report;
use myxtts_data::host_stage::Tell;
use myxtts_data::prepare::{QUARANTINE, Quarantined};
use myxtts_run::FileError;
use myxtts_run::run_folder::{RunFolder, RunLog};

use super::job::Job;
use super::training_data::TrainingData;
use super::write_file;
use crate::error::TrainError;

/// Lists every clip that was left out, and why, in the run's folder.
pub(super) fn keep_quarantine(
    job: &Job,
    training_data: &TrainingData,
    folder: &RunFolder,
) -> Result<(), TrainError> {
    let prepared = job.dataset.folder.join(QUARANTINE);
    let mut lines = match prepared.exists() {
        true => std::fs::read(&prepared).map_err(FileError::when("read", &prepared))?,
        false => vec![],
    };
    for clip in &training_data.left_out {
        serde_json::to_writer(&mut lines, clip).map_err(TrainError::failed)?;
        lines.push(b'\n');
    }
    write_file(&folder.quarantine(), &lines)
}

/// Returns a function that records recordings that vanish while the run trains.
pub(super) fn lost_clips(folder: &RunFolder, log: &Arc<RunLog>) -> Result<Tell, TrainError> {
    let log = Arc::clone(log);
    let path = folder.quarantine();
    let file = std::fs::File::options().append(true).open(&path);
    let mut file = file.map_err(|why| TrainError::Failed(report!("{}: {why}", path.display())))?;
    Ok(Box::new(move |clip: &Quarantined| {
        // A failure to record this must not end the run.
        let line = serde_json::to_string(clip).unwrap_or_default();
        let _ = file.write_all(format!("{line}\n").as_bytes());
        let _ = log.line(&format!(
            "left out from now on: {}: {}",
            clip.source, clip.why
        ));
    }))
}
