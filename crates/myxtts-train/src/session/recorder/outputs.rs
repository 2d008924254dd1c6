//! The open files of a run.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use myxtts_base::process::peak_memory;
use myxtts_run::checkpoint::{AsyncSaver, Checkpoint, CheckpointError, Saved, Snapshot, Store};
use myxtts_run::metrics::MetricsWriter;
use myxtts_run::progress::{Progress, Style};
use myxtts_run::run_folder::{Notes, RunFolder, RunLog};
use myxtts_run::signals::StopRequest;
use myxtts_run::tensorboard::EventWriter;
use myxtts_run::units::Step;
use serde_json::{Value, json};

use crate::error::TrainError;
use crate::session::checkup::Checkup;
use crate::session::eta::RunEta;
use crate::session::job::{Cadence, Job};
use crate::session::trained_clips::{self, TrainedClips};

/// The open files of a run, passed on from stage to stage.
pub(crate) struct RunOutputs {
    pub(crate) folder: RunFolder,
    pub(crate) metrics: MetricsWriter,
    pub(crate) events: EventWriter,
    pub(crate) log: Arc<RunLog>,
    /// Lines of progress for the log.
    pub(crate) kept_progress: Progress<Notes>,
    /// The number of the stage being trained.
    pub(crate) place: StagePlace,
    /// When the present stage began.
    pub(crate) stage_begun: Instant,
    /// What remains of the run, and how long it will take.
    pub(crate) eta: RunEta,
    /// The doctor; `None` once a look has failed.
    pub(crate) checkup: Option<Checkup>,
    pub(crate) saver: AsyncSaver,
    pub(crate) stop: StopRequest,
    pub(crate) cadence: Cadence,
    /// Whether the message that all devices are open was printed.
    pub(crate) is_configured: bool,
    /// Kernels compiled after a warm-up, in all stages.
    pub(crate) late_kernels: u64,
    /// Levels of the last rendered sounds, by the kind of sound.
    pub(crate) levels: BTreeMap<&'static str, Vec<f32>>,
    /// What every checkpoint records about the run.
    pub(crate) sections: Vec<(String, Value)>,
}

/// A stage's place in the run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StagePlace {
    /// The number of the stage, from 1.
    pub(crate) number: usize,
    /// The number of stages in the run.
    pub(crate) of: usize,
}

impl RunOutputs {
    /// Opens the files that a run writes, continuing after the checkpoint it resumes from.
    pub(crate) fn open(
        job: &Job,
        folder: RunFolder,
        log: Arc<RunLog>,
        store: Store,
        resumed: Option<&Checkpoint>,
        stop: StopRequest,
        clips: &TrainedClips,
    ) -> Result<Self, TrainError> {
        let step = resumed.map(Checkpoint::step);
        let (metrics, repaired) = MetricsWriter::open(folder.metrics(), step)?;
        if repaired.cut > 0 {
            let _ = log.line(&format!(
                "{} lines of metrics.jsonl after that step will be written again",
                repaired.cut
            ));
        }
        let sections = vec![
            ("config".to_owned(), job.config.clone()),
            ("plan".to_owned(), json!(job.plan)),
            (trained_clips::SECTION.to_owned(), json!(clips)),
            (
                "random".to_owned(),
                json!({ "seed": job.seed, "note": "every draw is a function of seed and step" }),
            ),
        ];
        Ok(Self {
            metrics,
            events: EventWriter::create(&folder.tensorboard(), step)?,
            kept_progress: Progress::new(RunLog::notes(&log), quiet(job)),
            place: StagePlace::default(),
            stage_begun: Instant::now(),
            eta: RunEta::default(),
            checkup: Some(Checkup::of(&folder)),
            saver: AsyncSaver::start(store)?,
            stop,
            cadence: job.cadence,
            is_configured: false,
            late_kernels: 0,
            levels: BTreeMap::new(),
            sections,
            log,
            folder,
        })
    }

    /// Writes a line for people to the log, and tells it to the observer.
    pub(crate) fn say(&mut self, line: &str) {
        // A log that cannot be written must not end the run, and the observer has the line.
        let _ = self.log.line(line);
    }

    fn log_saved(&mut self, saved: Option<Saved>) {
        let Some(saved) = saved else {
            return;
        };
        let megabytes = saved.bytes.0 as f64 / 1e6;
        self.say(&format!(
            "checkpoint of step {} written: {megabytes:.1} MB in {:.2} s",
            saved.step,
            saved.took.as_secs_f64()
        ));
        if !saved.superseded.is_empty() {
            let steps: Vec<String> = saved.superseded.iter().map(Step::to_string).collect();
            self.say(&format!(
                "deleted the later checkpoints, from before the run was resumed: {}",
                steps.join(", ")
            ));
        }
    }

    /// Writes a checkpoint. Where a copy of it is small beside what the process has held already,
    /// it is written while training continues; otherwise it is written tensor by tensor while
    /// training waits.
    pub(super) fn save(&mut self, mut snapshot: Snapshot<'_>) -> Result<(), TrainError> {
        snapshot.sections.extend(self.sections.iter().cloned());
        self.metrics.sync()?;
        if snapshot.bytes().0 <= peak_memory().map_or(SMALL_COPY, |peak| peak / COPY_SHARE) {
            let snapshot = snapshot.collected().map_err(|why| {
                let reason = why.to_string();
                CheckpointError::Snapshot { reason }
            })?;
            let submitted = self.saver.save(snapshot)?;
            self.log_saved(submitted.previous);
        } else {
            let (previous, saved) = self.saver.save_now(snapshot)?;
            self.log_saved(previous);
            self.log_saved(Some(saved));
        }
        Ok(())
    }

    /// Reports the checkpoint that was written in the background, once it is complete. A run that
    /// cannot save what it learns stops: its next checkpoint would fail too. It tries an
    /// emergency checkpoint first, and takes no more steps of which nothing would be left.
    pub(super) fn log_finished_save(&mut self) -> Result<(), TrainError> {
        let saved = self.saver.poll()?;
        self.log_saved(saved);
        Ok(())
    }

    /// Has the doctor look, and returns its sentence with `when` in front. A look that fails is
    /// reported once and is the last one: the training must not suffer.
    pub(super) fn check_up(&mut self, when: &str, step: Step, remaining: u64) -> Option<String> {
        match self.checkup.as_mut()?.look(step, remaining) {
            Ok(verdict) => Some(format!("{when}: {verdict}")),
            Err(why) => {
                self.checkup = None;
                self.say(&format!("the doctor looks no more at this run: {why}"));
                None
            }
        }
    }
}

/// A checkpoint may be copied if it takes at most this part of the most memory the process has
/// held, which is the peak of its steps.
const COPY_SHARE: u64 = 10;

/// The largest checkpoint that is copied where the system does not report the peak.
const SMALL_COPY: u64 = 32 << 20;

fn quiet(job: &Job) -> Style {
    Style::Quiet {
        every: job.cadence.log.max(1),
    }
}
