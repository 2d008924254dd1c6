//! What all stages have in common: a state, a place in the run, a recorder.

pub(crate) mod decoder;
mod decoder_course;
pub(crate) mod dvae;
pub mod execute;
pub(crate) mod frozen;
mod gpt;
mod memory_check;
pub(crate) mod parts;
pub(crate) mod pool_monitor;
pub(crate) mod precision;
pub(crate) mod prefetch;
pub(crate) mod recipe;
pub(crate) mod warm_up;

use std::fs::File;
use std::io::BufWriter;

use burn::tensor::Device;
use myxtts_data::schedule::Schedule;
use myxtts_data::stage::{ClipSource, Filled};
use myxtts_model::params::StateDict;
use myxtts_pipeline::{Ledger, Outcome, SiteWork};
use myxtts_run::FileError;
use myxtts_run::checkpoint::Checkpoint;
use myxtts_run::guard::SpikeSettings;

use crate::config::StageName;
use crate::error::TrainError;
use crate::feed::Fed;
use crate::objective::Trainee;
use crate::optim::{AdamW, AdamWConfig};
use crate::placement::Portable;
use crate::session::Job;
use crate::session::evaluate::Evaluator;
use crate::session::recorder::{Books, Desk, Setting};
use crate::session::saving::{self, Position};
use crate::session::training_data::Material;
use crate::train_loop::{Ema, Guards, LossScale, Recipe, State};
use execute::{StageRun, run_stage};
use pool_monitor::PoolWatch;
use recipe::{recipe, warm_up_words};

/// How many losses a jump is measured against; `SPIKE_DEVIATIONS` is how far it must go.
const SPIKE_WINDOW: usize = 100;
const SPIKE_DEVIATIONS: f64 = 6.0;

/// Returns the loop settings of a stage, and where in it the run stands.
///
/// A stage that ended early stays ended, and steps that were taken stay taken.
pub(crate) fn begin(
    job: &Job,
    stage: StageName,
    batches: &Schedule,
    before: u64,
    resumed: Option<&Checkpoint>,
) -> Result<(Recipe, Position), TrainError> {
    let mut recipe = recipe(job, stage, batches)?;
    let position = match resumed.map(saving::position).transpose()? {
        None => Position {
            stage,
            before,
            done: 0,
            steps: recipe.steps,
            ended_early: false,
            found: None,
        },
        Some(stored) => Position {
            steps: match stored.ended_early {
                true => stored.done,
                false => recipe.steps.max(stored.done),
            },
            ..stored
        },
    };
    recipe.steps = position.steps;
    Ok((recipe, position))
}

/// Makes a new state, or restores the one that a checkpoint of the stage has.
pub(crate) fn state<T: Trainee>(
    job: &Job,
    adamw: AdamWConfig,
    trainee: T,
    resumed: Option<&Checkpoint>,
) -> Result<State<T>, TrainError> {
    let optimisation = &job.optimisation;
    let decay = optimisation.ema_decay;
    let ema = match decay > 0.0 {
        // A checkpoint has an average of its own.
        true if resumed.is_some() => Some(Ema::new(decay, StateDict::new())),
        true => Some(Ema::new(
            decay,
            trainee.state().map_err(TrainError::failed)?,
        )),
        false => None,
    };
    let guards = Guards {
        bad_steps: optimisation.bad_steps,
        spikes: SpikeSettings {
            window: SPIKE_WINDOW,
            threshold: SPIKE_DEVIATIONS,
            action: optimisation.spikes,
        },
        scale: LossScale::of(trainee.compute()),
    };
    let optimisers = (0..T::PHASES).map(|_| AdamW::new(adamw)).collect();
    let state = State::new(trainee, optimisers, ema, guards);
    match resumed {
        Some(checkpoint) => saving::restore(state, checkpoint, adamw),
        None => Ok(state),
    }
}

/// Returns what a stage hands on to the next: the weights that its model is used with, averaged
/// if an average is kept.
pub(crate) fn handed_on<T: Trainee>(state: State<T>) -> Result<StateDict, TrainError> {
    match state.ema {
        Some(ema) => Ok(ema.into_weights()),
        None => state.trainee.state().map_err(TrainError::failed),
    }
}

/// Runs a stage and records it.
pub(crate) fn train<T, S, C, M, E>(
    run: StageRun<'_, C, S, M>,
    desk: &mut Desk,
    evaluator: E,
    position: Position,
    job: &Job,
    material: &Material,
    resumed: Option<&Checkpoint>,
) -> Result<(State<T>, Outcome), TrainError>
where
    T: Trainee,
    T::Batch: Portable,
    S: SiteWork<Buffer = Filled, Batch = Fed<T::Batch>> + 'static,
    C: ClipSource + Send + Sync + 'static,
    M: Fn(&Device) -> Result<State<T>, TrainError> + Sync,
    E: Evaluator<T>,
{
    let steps_per_epoch = run.host.steps_per_epoch();
    desk.say(&format!(
        "stage {}: {} steps, {steps_per_epoch} batches an epoch; {}",
        position.stage.name(),
        position.steps,
        warm_up_words(&job.optimisation, position.steps)
    ));
    let replicas = run.placement.replicas();
    if replicas > 1 {
        desk.say(&format!(
            "gradients of {replicas} replicas are averaged {}",
            run.placement.averages
        ));
    }
    let accumulation = run.recipe.accumulation.max(1) as u64;
    let setting = Setting {
        steps_per_epoch: (steps_per_epoch / accumulation).max(1),
        has_data_device: run.placement.has_hop,
        has_warm_up: position.stage == StageName::Gpt && run.placement.has_gpu(),
    };
    let books = Books::open(desk, evaluator, position, setting, job, material, resumed)?;
    let mut books = books.watching(PoolWatch::new(job, run.placement));
    let (state, outcome) = run_stage(run, &mut books)?;
    books.close(&state)?;
    Ok((state, outcome))
}

/// Opens the file of waits, to which every stage appends.
pub(crate) fn ledger(desk: &Desk, stage: StageName) -> Result<Ledger, TrainError> {
    let file = File::options()
        .create(true)
        .append(true)
        .open(desk.folder.ledger())
        .map_err(FileError::when("open", desk.folder.ledger()))?;
    Ok(Ledger::written(BufWriter::new(file)).of(stage.name()))
}
