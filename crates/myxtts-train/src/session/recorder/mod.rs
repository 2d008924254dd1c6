//! Records a run: metrics, event files, progress, checkpoints.

mod evaluation;
mod measured;
mod outputs;
mod rendering;
mod samples;
mod stage_clock;
mod step_lines;
mod throughput;

use std::marker::PhantomData;
use std::rc::Weak;
use std::time::{Duration, Instant};

use myxtts_device::{KernelWatch, check_for_oom};
use myxtts_ops::is_cpu;
use myxtts_pipeline::{Pipeline, Start};
use myxtts_run::checkpoint::{Best, Checkpoint};
use myxtts_run::guard::EarlyStop;
use myxtts_run::metrics::Record;
use myxtts_run::units::Step;
use serde_json::json;

pub(crate) use measured::measured;
pub(crate) use outputs::{RunOutputs, StagePlace};

use super::checkup::{self, Checkup};
use super::evaluate::Evaluator;
use super::job::Job;
use super::saving::{self, OWED, Owed, Position, snapshot};
use super::training_data::TrainingData;
use crate::error::TrainError;
use crate::objective::Objective;
use crate::stage::execute::StageObserver;
use crate::stage::pool_monitor::PoolMonitor;
use crate::train_loop::{State, StepObserver, StepReport};
use rendering::InProgress;
use stage_clock::{Pause, StageClock};
use throughput::Throughput;

/// Records one stage of the run.
pub(crate) struct Recorder<'a, T, E> {
    outputs: &'a mut RunOutputs,
    evaluator: E,
    position: Position,
    early: EarlyStop,
    throughput: Throughput,
    clock: StageClock,
    /// How long it took until the first step, until that is recorded.
    start: Option<Duration>,
    /// Steps taken in this session.
    taken: u64,
    pipeline: Weak<Pipeline>,
    pool: PoolMonitor,
    /// The step of the newest checkpoint.
    saved: Option<u64>,
    /// Set if the validation of this step was the best so far, for its checkpoint to record.
    best: Option<Best>,
    /// Samples that are rendered while training continues, and their step.
    rendered: Option<(Step, InProgress)>,
    /// Work that a stop has left undone.
    owed: Owed,
    /// The names of the clips that are trained on.
    clips: &'a [String],
    sample_rate: f64,
    peak_flops: Option<f64>,
    stage_info: StageInfo,
    /// Counts kernels on GPUs, in a stage that begins with a warm-up.
    kernels: Option<KernelWatch>,
    objective: PhantomData<fn(T)>,
}

/// What the recorder knows about its stage.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StageInfo {
    pub(crate) steps_per_epoch: u64,
    /// Whether evaluation has a device that the model does not train on.
    pub(crate) has_data_device: bool,
    /// Whether kernels are compiled, all of them before the first step.
    pub(crate) has_warm_up: bool,
}

/// The shortest wait before the first step that is worth a line in the log.
const WORTH_A_LINE: Duration = Duration::from_secs(1);

impl<'a, T: Objective, E: Evaluator<T>> Recorder<'a, T, E> {
    /// Opens the recorder of a stage that begins or resumes at `position`.
    pub(crate) fn open(
        outputs: &'a mut RunOutputs,
        evaluator: E,
        position: Position,
        stage_info: StageInfo,
        job: &Job,
        training_data: &'a TrainingData,
        resumed: Option<&Checkpoint>,
    ) -> Result<Self, TrainError> {
        let patience = match job.optimization.patience {
            0 => u64::MAX,
            patience => patience,
        };
        let early = match resumed {
            Some(checkpoint) => saving::section::<EarlyStop>(checkpoint, "early_stop")?,
            None => EarlyStop::new(patience, 0.0),
        };
        let owed = resumed.map(Owed::of).transpose()?.unwrap_or_default();
        Ok(Self {
            clock: StageClock::since(outputs.stage_begun),
            start: None,
            taken: 0,
            outputs,
            evaluator,
            owed,
            saved: resumed.is_some().then_some(position.done),
            position,
            early: early.with_patience(patience),
            throughput: Throughput::default(),
            pipeline: Weak::new(),
            pool: PoolMonitor::default(),
            best: None,
            rendered: None,
            clips: &training_data.train.ids,
            sample_rate: f64::from(job.clips.audio.sample_rate.hz()),
            peak_flops: job.peak_flops(),
            kernels: stage_info.has_warm_up.then(KernelWatch::warm_up),
            stage_info,
            objective: PhantomData,
        })
    }

    /// Watches the memory with `pool`.
    pub(crate) fn watching(self, pool: PoolMonitor) -> Self {
        Self { pool, ..self }
    }

    fn step(&self) -> Step {
        Step(self.position.before + self.position.done)
    }

    fn due(&self, every: u64) -> bool {
        is_due(self.position.done, every)
    }

    /// Begins a metrics record of this step.
    fn line(&mut self) -> Record {
        let line = Record::new(self.step()).text("stage", self.position.stage.name());
        match self.start.take() {
            Some(start) => line.f64("start_s", start.as_secs_f64()),
            None => line,
        }
    }

    /// Counts the steps still to come, over all stages.
    fn remaining(&self) -> u64 {
        let of_stage = self.position.steps.saturating_sub(self.position.done);
        of_stage + self.outputs.eta.steps_after(self.position.stage)
    }

    /// Has the doctor look when the warm-up is over, and after each epoch.
    fn check_up(&mut self) {
        self.taken += 1;
        let per_epoch = self.stage_info.steps_per_epoch;
        let ends_epoch = self.position.done.is_multiple_of(per_epoch);
        let is_too_soon = self
            .outputs
            .checkup
            .as_ref()
            .is_none_or(Checkup::is_too_soon);
        let (step, remaining) = (self.step(), self.remaining());
        if self.taken == checkup::FIRST {
            if let Some(line) = self.outputs.check_up("after the warm-up", step, remaining) {
                self.outputs.say(&line);
            }
        } else if ends_epoch && self.taken > checkup::FIRST && !is_too_soon {
            let when = format!("epoch {}", self.position.done / per_epoch);
            if let Some(line) = self.outputs.check_up(&when, step, remaining) {
                // Only the log file gets this: a small dataset has many epochs.
                let _ = self.outputs.log.note(&line);
            }
        }
    }

    /// Does something during which training pauses, and counts the time.
    fn pausing<R>(
        &mut self,
        pause: Pause,
        work: impl FnOnce(&mut Self) -> Result<R, TrainError>,
    ) -> Result<R, TrainError> {
        let begin = Instant::now();
        let result = work(self);
        self.clock.paused(pause, begin);
        result
    }

    /// Whether the stage has no step left.
    fn is_over(&self) -> bool {
        self.position.ended_early || self.position.done >= self.position.steps
    }

    /// Writes a checkpoint of this step, unless it has one.
    fn save(&mut self, state: &State<T>) -> Result<(), TrainError> {
        if self.saved == Some(self.position.done) {
            return Ok(());
        }
        let contents = self.evaluator.contents(state)?;
        let mut snapshot = snapshot(
            state,
            &self.position,
            self.stage_info.steps_per_epoch,
            contents,
        )?;
        snapshot
            .sections
            .insert("early_stop".to_owned(), json!(self.early));
        if self.owed.is_any() {
            let owed = json!(self.owed);
            snapshot.sections.insert(OWED.to_owned(), owed);
        }
        snapshot.best = self.best.take();
        self.outputs.save(snapshot)?;
        self.saved = Some(self.position.done);
        Ok(())
    }

    /// Ends the stage: does what has not been done for its last step.
    pub(crate) fn close(&mut self, state: &State<T>) -> Result<(), TrainError> {
        self.outputs.log.observer().progress_ended();
        if let Some(kernels) = self.kernels.take() {
            let [warm, late] = kernels.finish();
            self.outputs
                .say(&format!("kernels after warm-up: {late} (in it: {warm})"));
            self.outputs.late_kernels += late as u64;
        }
        let is_over = self.is_over();
        // If the last step has a checkpoint, it was written here, after its validation.
        let is_known = self.saved == Some(self.position.done);
        if is_over && !is_known && !self.due(self.outputs.cadence.validate) {
            self.pausing(Pause::Validation, |recorder| recorder.validate(state))?;
        }
        if is_over && !is_known {
            self.pausing(Pause::Validation, |recorder| recorder.conclude(state))?;
        }
        // Before a stage's first step there is nothing that is not saved already.
        let has_steps = is_over || self.position.done > 0;
        if has_steps {
            self.pausing(Pause::Checkpoint, |recorder| recorder.save(state))?;
        }
        self.pausing(Pause::Samples, Self::keep_rendered)?;
        // A run that was stopped gets its samples when it is resumed.
        let is_sampled = match is_over {
            true => self.pausing(Pause::Samples, |recorder| recorder.render(state, true))?,
            false => Some(()),
        };
        if is_sampled.is_none() {
            self.log_unfinished_samples(self.step());
        }
        if !has_steps {
            return Ok(());
        }
        self.record_close()?;
        let when = format!("verdict of stage {}", self.position.stage.name());
        let (step, remaining) = (self.step(), self.remaining());
        if let Some(line) = self.outputs.check_up(&when, step, remaining) {
            self.outputs.say(&line);
        }
        Ok(())
    }
}

/// Whether what happens every so many steps happens after this one.
fn is_due(step: u64, every: u64) -> bool {
    every > 0 && step.is_multiple_of(every)
}

impl<T: Objective, E: Evaluator<T>> StepObserver<T> for Recorder<'_, T, E> {
    fn looks_at(&self, step: u64) -> bool {
        let cadence = self.outputs.cadence;
        let every = [cadence.validate, cadence.samples, cadence.checkpoint];
        every.into_iter().any(|every| is_due(step, every))
    }

    fn after_step(&mut self, report: &StepReport, state: &State<T>) -> Result<bool, TrainError> {
        // Only the kernels of steps must be warm: evaluation has shapes of its own.
        let kernels = match is_cpu(&state.objective.device()) {
            // Nothing is compiled on the CPU.
            true => Some(0),
            false => self.kernels.as_mut().and_then(KernelWatch::pause),
        };
        self.position.done = report.step;
        self.record(report, kernels)?;
        self.outputs.log_finished_save()?;
        self.log_step_events(report);
        self.check_up();
        if let Some(line) = self.pool.after(&state.objective.device())? {
            self.outputs.say(&line);
        }
        let cadence = self.outputs.cadence;
        if self.due(cadence.validate) {
            self.pausing(Pause::Validation, |recorder| recorder.validate(state))?;
        }
        if self
            .rendered
            .as_ref()
            .is_some_and(|(_, rendering)| rendering.is_finished())
        {
            self.pausing(Pause::Samples, Self::keep_rendered)?;
        }
        // The end of the stage renders samples of the last step.
        if self.due(cadence.samples) && !self.is_over() {
            self.pausing(Pause::Samples, |recorder| recorder.sample(state))?;
        }
        // All records of a step come before its checkpoint, or a resumed run would repeat them.
        // Those of the last step are not complete yet.
        let is_due = self.best.is_some() || self.due(cadence.checkpoint);
        if is_due && !self.is_over() {
            self.pausing(Pause::Checkpoint, |recorder| recorder.save(state))?;
        }
        self.record_pauses()?;
        self.show(report);
        if let (Some(kernels), None) = (&mut self.kernels, &self.rendered) {
            kernels.count();
        }
        Ok(self.position.ended_early)
    }

    fn failed(&mut self, error: &TrainError, state: &State<T>) {
        // Before a stage's first step there is nothing that is not saved already.
        if self.position.done == 0 {
            return;
        }
        let line = format!(
            "{error}\nwriting an emergency checkpoint of step {}",
            self.step()
        );
        self.outputs.say(&line);
        if let Err(error) = self.save(state) {
            self.outputs
                .say(&format!("the emergency checkpoint failed too: {error}"));
        }
    }
}

impl<T: Objective, E: Evaluator<T>> StageObserver<T> for Recorder<'_, T, E> {
    fn started(
        &mut self,
        made: Duration,
        start: &Start,
        state: &State<T>,
    ) -> Result<bool, TrainError> {
        // The first stage has opened every device of the run.
        let is_configured = std::mem::replace(&mut self.outputs.is_configured, true);
        if self.stage_info.has_data_device && !is_configured {
            self.outputs
                .say("Multi-GPU configuration completed successfully");
        }
        // Where kernels are compiled, that is what took so long.
        if made >= WORTH_A_LINE {
            let line = format!("devices were ready after {:.2} s", made.as_secs_f64());
            self.outputs.say(&line);
        }
        self.outputs.say(&start.to_string());
        if self.evaluator.flops_per_position().is_none() {
            let stage = self.position.stage.name();
            self.outputs.say(&format!(
                "compute is not shown in the {stage} stage: its operations are not counted"
            ));
        }
        self.do_owed_work(state)?;
        self.record_pauses()?;
        self.start = Some(self.clock.lap());
        self.outputs.say("Model training starting now");
        if let Some(kernels) = &mut self.kernels {
            kernels.count();
        }
        self.throughput = Throughput::default();
        let eta = &mut self.outputs.eta;
        eta.begin(self.position.stage, Instant::now());
        Ok(self.position.ended_early)
    }

    fn pipeline(&mut self, pipeline: Weak<Pipeline>) {
        self.pipeline = pipeline;
    }
}

/// Fails if the device ran out of memory: numbers and sound made then are not kept.
fn check_for_oom_in(what: &str) -> Result<(), TrainError> {
    check_for_oom().map_err(|why| TrainError::OutOfMemory {
        when: what.to_owned(),
        found: why.to_string(),
    })
}
