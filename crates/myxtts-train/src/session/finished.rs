//! How a training ended.

use std::path::PathBuf;

use myxtts_run::signals::{StopRequest, StopSignal};
use myxtts_text::Language;

use super::job::{Job, StageName};
use super::verdict::Finding;

/// How a training ended.
#[derive(Clone, Debug)]
pub struct Finished {
    /// The run's folder.
    pub run: PathBuf,
    /// Steps taken, all stages.
    pub steps: u64,
    /// Samples of the last step.
    pub samples: Option<PathBuf>,
    /// Who asked it to stop.
    pub stopped: Option<StopSignal>,
    /// Percent of the time that the model waited for data, by stage.
    pub data_wait_pct: Vec<(StageName, f64)>,
    /// New shapes after the warm-up.
    pub shapes_after_warmup: u64,
    /// Kernels that were compiled after it.
    pub kernels_after_warmup: u64,
    /// Whether it can speak: it has a GPT.
    pub speaks: bool,
    /// The language of most of its recordings.
    pub language: Option<Language>,
    /// A sentence in it that the model has the letters for.
    pub sentence: Option<String>,
    /// What is to be said of it; nothing of one that was stopped.
    pub verdict: Vec<Finding>,
}

impl Finished {
    /// Before anything was done; stopped, if `stop` was asked.
    pub(super) fn stopped(job: &Job, stop: &StopRequest) -> Self {
        Self {
            run: job.run.clone(),
            steps: 0,
            samples: None,
            stopped: stop.asked(),
            data_wait_pct: vec![],
            shapes_after_warmup: 0,
            kernels_after_warmup: 0,
            speaks: false,
            language: None,
            sentence: None,
            verdict: vec![],
        }
    }

    /// How it ended, in a line.
    pub fn words(&self) -> String {
        match (self.stopped, self.steps) {
            (None, steps) => format!("done: {steps} steps, {}", self.run.display()),
            (Some(_), 0) => {
                "stopped before the first step; the same command starts again".to_owned()
            }
            (Some(_), steps) => format!(
                "stopped after step {steps} with a checkpoint; the same command resumes there"
            ),
        }
    }
}
