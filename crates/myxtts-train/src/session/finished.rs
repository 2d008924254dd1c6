//! How a training ended.

use std::path::PathBuf;

use myxtts_run::signals::{StopRequest, StopSignal};
use myxtts_text::Language;

use super::job::Job;
use super::verdict::Finding;
use crate::config::StageName;

/// How a training ended.
#[derive(Clone, Debug)]
pub struct Finished {
    /// The folder of the run.
    pub run: PathBuf,
    /// Steps taken in all stages.
    pub steps: u64,
    /// The folder of the last step's samples.
    pub samples: Option<PathBuf>,
    /// The signal that asked it to stop, if one did.
    pub stopped: Option<StopSignal>,
    /// Percent of the time that the model waited for data, by stage.
    pub data_wait_pct: Vec<(StageName, f64)>,
    /// New shapes after the warm-up.
    pub shapes_after_warmup: u64,
    /// Kernels compiled after the warm-up.
    pub kernels_after_warmup: u64,
    /// Whether the model can speak, that is, has a GPT.
    pub speaks: bool,
    /// The language of most recordings.
    pub language: Option<Language>,
    /// A sentence in that language whose letters the model knows.
    pub sentence: Option<String>,
    /// Judgements about the run; empty if it was stopped.
    pub verdict: Vec<Finding>,
}

impl Finished {
    /// Makes the result of a training that has not begun; stopped, if `stop` was requested.
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

    /// Sums up how the training ended, in a line.
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
