//! Where a run begins: at a checkpoint of its own, at earlier weights, or from scratch.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use myxtts_base::report;
use myxtts_run::FileError;
use myxtts_run::checkpoint::{Checkpoint, Retention, Store};
use myxtts_run::run_folder::{RunFolder, RunLog};
use myxtts_run::units::Step;

use super::initial_weights::InitialWeights;
use super::job::Job;
use super::resume_rules;
use super::saving::{Position, position};
use crate::config::{Resume, ResumeWord};
use crate::error::TrainError;

/// The point from which a session of the run starts.
pub(super) struct ResumePoint {
    pub(super) store: Store,
    pub(super) resumed: Option<Checkpoint>,
    pub(super) start: Option<Position>,
    /// The weights to start with.
    pub(super) initial_weights: InitialWeights,
}

impl ResumePoint {
    /// Opens the checkpoints of a run, and finds where it stands among them.
    pub(super) fn find(job: &Job, folder: &RunFolder, log: &RunLog) -> Result<Self, TrainError> {
        let say = |line: &str| {
            let _ = log.line(line);
        };
        let begun_again = match job.reset_training {
            true => begin_again(folder, job)?,
            false => None,
        };
        let retention = Retention {
            keep_last: NonZeroUsize::new(job.cadence.keep).unwrap_or(NonZeroUsize::MIN),
            keep_every: None,
        };
        let (mut store, swept) = Store::open(folder.checkpoints(), retention)?;
        for line in swept.to_string().lines() {
            say(line);
        }
        let resumed = match job.reset_training {
            true => None,
            false => find(&store, job).map_err(|error| beside_whole(error, store.folder()))?,
        };
        let mut initial_weights = match (&resumed, begun_again, &job.init) {
            (Some(checkpoint), ..) => {
                for notice in resume_rules::check(checkpoint, job)? {
                    say(&notice);
                }
                InitialWeights::checkpoint(checkpoint)
                    .map_err(|error| beside_whole(error, store.folder()))?
            }
            (None, Some(weights), _) => weights,
            (None, None, Some(folder)) => InitialWeights::init(folder, job)?,
            (None, None, None) => InitialWeights::default(),
        };
        for notice in initial_weights.notices.drain(..) {
            say(&notice);
        }
        let start = resumed.as_ref().map(position).transpose()?;
        if let (Some(checkpoint), Some(position)) = (&resumed, &start) {
            let superseded = store.resume_from(checkpoint.step())?;
            for line in words(checkpoint.step(), position, &superseded) {
                say(&line);
            }
        }
        Ok(Self {
            store,
            resumed,
            start,
            initial_weights,
        })
    }
}

/// Where a run is resumed, in words, and what that costs.
fn words(step: Step, position: &Position, superseded: &[Step]) -> Vec<String> {
    let mut words = vec![format!(
        "resuming from step {step} ({}, {} of {} steps of this stage)",
        position.stage.name(),
        position.done,
        position.steps
    )];
    if !superseded.is_empty() {
        let steps: Vec<String> = superseded.iter().map(Step::to_string).collect();
        words.push(format!(
            "later checkpoints are deleted once the first new one is written: {}; stop before \
             that to keep them",
            steps.join(", ")
        ));
    }
    words
}

/// Adds to an error about a damaged checkpoint those that are whole; returns any other error as
/// it is.
fn beside_whole(error: TrainError, checkpoints: &Path) -> TrainError {
    match error {
        TrainError::Checkpoint(error) => error.beside_whole(checkpoints).into(),
        other => other,
    }
}

/// Finds the checkpoint to resume from.
fn find(store: &Store, job: &Job) -> Result<Option<Checkpoint>, TrainError> {
    match job.resume {
        Resume::Word(ResumeWord::Auto) => Ok(store.latest()?),
        Resume::Step(step) => Ok(Some(store.at(Step(step))?)),
        Resume::Word(ResumeWord::Never) => match store.latest()? {
            None => Ok(None),
            Some(checkpoint) => Err(TrainError::Usage(report!(
                "{} holds a run of {} steps", job.run.display(), checkpoint.step();
                asked: "--resume never";
                fix: "--resume auto to continue it, --reset-training to start again with its \
                      weights, or another name with --set training.name=NAME"
            ))),
        },
    }
}

/// Reads the weights for a training that begins again: those of the run's newest checkpoint, or
/// of the one `--resume STEP` names. The checkpoints are set aside, and none is deleted.
fn begin_again(folder: &RunFolder, job: &Job) -> Result<Option<InitialWeights>, TrainError> {
    let current = folder.checkpoints();
    let sets = || (1..).map(|number| aside(folder, number));
    let chosen_one = chosen(&current, job.resume).map_err(|error| beside_whole(error, &current))?;
    if let Some(checkpoint) = chosen_one {
        // It is read before it is moved, so that what cannot be read stays where it is.
        let initial_weights = InitialWeights::checkpoint(&checkpoint);
        let initial_weights = initial_weights.map_err(|error| beside_whole(error, &current))?;
        if let Some(free) = sets().find(|set| !set.exists()) {
            std::fs::rename(&current, free).map_err(FileError::when("set aside", &current))?;
        }
        return Ok(Some(initial_weights));
    }
    // An earlier reset was interrupted before its first checkpoint.
    let last = sets().take_while(|set| set.exists()).last();
    let checkpoint = last.map(|set| chosen(&set, Resume::AUTO)).transpose()?;
    let checkpoint = checkpoint.flatten();
    checkpoint
        .map(|found| InitialWeights::checkpoint(&found))
        .transpose()
}

fn chosen(folder: &Path, resume: Resume) -> Result<Option<Checkpoint>, TrainError> {
    let keep_all = Retention {
        keep_last: NonZeroUsize::MAX,
        keep_every: None,
    };
    let (store, _) = Store::open(folder, keep_all)?;
    match (store.latest()?, resume) {
        (Some(_), Resume::Step(step)) => Ok(Some(store.at(Step(step))?)),
        (latest, _) => Ok(latest),
    }
}

/// Returns the folder for the checkpoints that the n-th reset sets aside.
fn aside(folder: &RunFolder, number: u64) -> PathBuf {
    folder.path().join(match number {
        1 => "checkpoints-before-reset".to_owned(),
        number => format!("checkpoints-before-reset-{number}"),
    })
}
