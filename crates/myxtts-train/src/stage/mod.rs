//! What all stages have in common: a state, a place in the run, a recorder.

pub(crate) mod decoder;
mod decoder_curriculum;
pub(crate) mod dvae;
pub mod execute;
pub(crate) mod frozen;
mod gpt;
mod memory_check;
pub(crate) mod parts;
pub(crate) mod pool_monitor;
pub(crate) mod precision;
pub(crate) mod prefetch;
pub(crate) mod stage_plan;
pub(crate) mod warm_up;

use std::fs::File;
use std::io::BufWriter;

use burn::tensor::Device;
use myxtts_data::host_stage::{ClipSource, PreparedBatch};
use myxtts_data::schedule::Schedule;
use myxtts_model::params::StateDict;
use myxtts_pipeline::{DeviceStage, Ledger, Outcome};
use myxtts_run::FileError;
use myxtts_run::checkpoint::Checkpoint;
use myxtts_run::guard::SpikeSettings;

use crate::config::StageName;
use crate::error::TrainError;
use crate::feed::DeviceBatch;
use crate::objective::Objective;
use crate::optim::{AdamW, AdamWConfig};
use crate::placement::ToDevice;
use crate::session::evaluate::Evaluator;
use crate::session::recorder::{Recorder, RunOutputs, StageInfo};
use crate::session::saving::{self, Position};
use crate::session::training_data::TrainingData;
use crate::session::{Finished, Job};
use crate::train_loop::{Ema, Guards, LoopConfig, LossScale, State};
use execute::{StageRun, run_stage};
use pool_monitor::PoolMonitor;
use stage_plan::{loop_config, lr_warmup_words};

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
) -> Result<(LoopConfig, Position), TrainError> {
    let mut loop_config = loop_config(job, stage, batches)?;
    let position = match resumed.map(saving::position).transpose()? {
        None => Position {
            stage,
            before,
            done: 0,
            steps: loop_config.steps,
            ended_early: false,
            found: None,
        },
        Some(stored) => Position {
            steps: match stored.ended_early {
                true => stored.done,
                false => loop_config.steps.max(stored.done),
            },
            ..stored
        },
    };
    loop_config.steps = position.steps;
    Ok((loop_config, position))
}

/// Makes a new state, or restores the one that a checkpoint of the stage has.
pub(crate) fn state<T: Objective>(
    job: &Job,
    adamw: AdamWConfig,
    objective: T,
    resumed: Option<&Checkpoint>,
) -> Result<State<T>, TrainError> {
    let optimization = &job.optimization;
    let decay = optimization.ema_decay;
    let ema = match decay > 0.0 {
        // A checkpoint has an average of its own.
        true if resumed.is_some() => Some(Ema::new(decay, StateDict::new())),
        true => Some(Ema::new(
            decay,
            objective.state().map_err(TrainError::failed)?,
        )),
        false => None,
    };
    let guards = Guards {
        bad_steps: optimization.bad_steps,
        spikes: SpikeSettings {
            window: SPIKE_WINDOW,
            threshold: SPIKE_DEVIATIONS,
            action: optimization.spikes,
        },
        scale: LossScale::of(objective.compute()),
    };
    let optimizers = (0..T::PHASES).map(|_| AdamW::new(adamw)).collect();
    let state = State::new(objective, optimizers, ema, guards);
    match resumed {
        Some(checkpoint) => saving::restore(state, checkpoint, adamw),
        None => Ok(state),
    }
}

/// Returns what a stage hands on to the next: the weights that its model is used with, averaged
/// if an average is kept.
pub(crate) fn final_weights<T: Objective>(state: State<T>) -> Result<StateDict, TrainError> {
    match state.ema {
        Some(ema) => Ok(ema.into_weights()),
        None => state.objective.state().map_err(TrainError::failed),
    }
}

/// What a stage is recorded in, and where it stands.
pub(crate) struct Recording<'a> {
    pub(crate) outputs: &'a mut RunOutputs,
    pub(crate) finished: &'a mut Finished,
    pub(crate) job: &'a Job,
    pub(crate) training_data: &'a TrainingData,
    pub(crate) position: Position,
    pub(crate) resumed: Option<&'a Checkpoint>,
}

impl Recording<'_> {
    /// Runs a stage, records it with what its data cost, and returns its last state.
    pub(crate) fn train<T, S, C, M, E>(
        self,
        run: StageRun<'_, C, S, M>,
        evaluator: E,
    ) -> Result<State<T>, TrainError>
    where
        T: Objective,
        T::Batch: ToDevice,
        S: DeviceStage<Buffer = PreparedBatch, Batch = DeviceBatch<T::Batch>> + 'static,
        C: ClipSource + Send + Sync + 'static,
        M: Fn(&Device) -> Result<State<T>, TrainError> + Sync,
        E: Evaluator<T>,
    {
        let Self {
            outputs,
            finished,
            job,
            training_data,
            position,
            resumed,
        } = self;
        let stage = position.stage;
        let stage_info = announce(&run, &position, job, outputs);
        let recorder = Recorder::open(
            &mut *outputs,
            evaluator,
            position,
            stage_info,
            job,
            training_data,
            resumed,
        )?;
        let mut recorder = recorder.watching(PoolMonitor::new(job, run.placement));
        let (state, outcome) = run_stage(run, &mut recorder)?;
        recorder.close(&state)?;
        drop(recorder);
        note(stage, &outcome, outputs, finished);
        Ok(state)
    }
}

/// Says how long the stage is and what averages its gradients, and returns what its recorder needs
/// to know.
fn announce<C: ClipSource, S, M>(
    run: &StageRun<'_, C, S, M>,
    position: &Position,
    job: &Job,
    outputs: &mut RunOutputs,
) -> StageInfo {
    let steps_per_epoch = run.host.steps_per_epoch();
    outputs.say(&format!(
        "stage {}: {} steps, {steps_per_epoch} batches an epoch; {}",
        position.stage.name(),
        position.steps,
        lr_warmup_words(&job.optimization, position.steps)
    ));
    let replicas = run.placement.replicas();
    if replicas > 1 {
        outputs.say(&format!(
            "gradients of {replicas} replicas are averaged {}",
            run.placement.all_reduce
        ));
    }
    let accumulation = run.loop_config.accumulation.max(1) as u64;
    StageInfo {
        steps_per_epoch: (steps_per_epoch / accumulation).max(1),
        has_data_device: run.placement.has_hop,
        has_warm_up: position.stage == StageName::Gpt && run.placement.has_gpu(),
    }
}

/// Keeps how long the stage waited for its data.
fn note(stage: StageName, outcome: &Outcome, outputs: &mut RunOutputs, finished: &mut Finished) {
    let summary = &outcome.summary;
    finished.data_wait_pct.push((stage, summary.data_wait_pct));
    outputs.say(&format!("{}: {}", stage.name(), summary.line()));
    let _ = outputs.log.note(&summary.to_string());
    if let Some(lost) = &outcome.ledger_lost {
        outputs.say(&format!("ledger.jsonl is not complete: {lost}"));
    }
}

/// Opens the file of waits, to which every stage appends.
pub(crate) fn ledger(outputs: &RunOutputs, stage: StageName) -> Result<Ledger, TrainError> {
    let file = File::options()
        .create(true)
        .append(true)
        .open(outputs.folder.ledger())
        .map_err(FileError::when("open", outputs.folder.ledger()))?;
    Ok(Ledger::written(BufWriter::new(file)).of(stage.name()))
}
