//! The books of a run: metrics, event files, progress, checkpoints.

use std::collections::BTreeMap;
use std::io::Stderr;
use std::marker::PhantomData;
use std::rc::Weak;
use std::sync::Arc;
use std::time::{Duration, Instant};

use myxtts_base::process::{peak_memory, resident_memory};
use myxtts_device::{KernelWatch, no_memory_fault};
use myxtts_ops::is_cpu;
use myxtts_pipeline::{Pipeline, Start};
use myxtts_run::checkpoint::{AsyncSaver, Best, Checkpoint, CheckpointError, Saved, Snapshot};
use myxtts_run::guard::{EarlyStop, Patience};
use myxtts_run::metrics::{MetricsWriter, Record};
use myxtts_run::progress::{Numbers, Progress, StageNumbers};
use myxtts_run::run_folder::{Notes, RunFolder, RunLog};
use myxtts_run::signals::StopRequest;
use myxtts_run::tensorboard::EventWriter;
use myxtts_run::units::{Bytes, Step};
use serde_json::{Value, json};

use super::checkup::{self, Checkup};
use super::evaluate::Evaluator;
use super::job::{Cadence, Job};
use super::material::Material;
use super::measured::measured;
use super::memory::PoolWatch;
use super::outlook::Outlook;
use super::rendering::InProgress;
use super::saving::{self, OWED, Owed, Position, snapshot};
use super::stage_clock::{Pause, StageClock};
use crate::error::{TrainError, unless_stopped};
use crate::looping::{State, StepDone, Watch};
use crate::stage_run::StageWatch;
use crate::trainee::Trainee;

/// The open files of a run, from stage to stage.
pub(super) struct Desk {
    pub(super) folder: RunFolder,
    pub(super) metrics: MetricsWriter,
    pub(super) events: EventWriter,
    pub(super) log: Arc<RunLog<Stderr>>,
    /// On the terminal.
    pub(super) progress: Progress<Stderr>,
    /// In the log.
    pub(super) kept_progress: Progress<Notes<Stderr>>,
    /// The stage that is being trained.
    pub(super) place: StagePlace,
    /// When it began.
    pub(super) stage_begun: Instant,
    /// What is still to come.
    pub(super) outlook: Outlook,
    /// The doctor, for as long as it can look.
    pub(super) checkup: Option<Checkup>,
    pub(super) saver: AsyncSaver,
    pub(super) stop: StopRequest,
    pub(super) cadence: Cadence,
    /// Whether it was said that all devices are open.
    pub(super) is_configured: bool,
    /// Kernels that were compiled after a warm-up.
    pub(super) late_kernels: u64,
    /// Levels of what was rendered last, by what it is.
    pub(super) levels: BTreeMap<&'static str, Vec<f32>>,
    /// What every checkpoint says of the run.
    pub(super) sections: Vec<(String, Value)>,
}

/// A stage's place in the run.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StagePlace {
    /// From 1.
    pub(super) number: usize,
    /// How many there are.
    pub(super) of: usize,
}

impl Desk {
    /// A line for people, in the log and on the terminal.
    pub(super) fn say(&mut self, line: &str) {
        // A terminal that is gone has nobody to tell, and the file has it.
        let _ = self.progress.clear();
        let _ = self.log.line(line);
    }

    pub(super) fn said_saved(&mut self, saved: Option<Saved>) {
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
                "deleted the later checkpoints of before it was resumed: {}",
                steps.join(", ")
            ));
        }
    }

    /// Writes a checkpoint: beside the training where a copy of it is small
    /// against what the process has held already, or else here and now, tensor
    /// by tensor, while the training waits.
    fn save(&mut self, mut snapshot: Snapshot<'_>) -> Result<(), TrainError> {
        snapshot.sections.extend(self.sections.iter().cloned());
        self.metrics.sync()?;
        if snapshot.bytes().0 <= peak_memory().map_or(SMALL_COPY, |peak| peak / COPY_SHARE) {
            let snapshot = snapshot.collected().map_err(|why| {
                let reason = why.to_string();
                CheckpointError::Snapshot { reason }
            })?;
            let submitted = self.saver.save(snapshot)?;
            self.said_saved(submitted.previous);
        } else {
            let (previous, saved) = self.saver.save_now(snapshot)?;
            self.said_saved(previous);
            self.said_saved(Some(saved));
        }
        Ok(())
    }

    /// Tells of the save that was written beside the training, once it has
    /// ended. A run that cannot keep what it learns stops: its next checkpoint
    /// would fail too, an emergency checkpoint is tried first, and hours of
    /// steps that nothing will be left of are not taken.
    fn told_of_save(&mut self) -> Result<(), TrainError> {
        let saved = self.saver.poll()?;
        self.said_saved(saved);
        Ok(())
    }
}

/// A checkpoint may be copied where that takes at most this part of the most
/// memory the process has held: its steps' own peak.
const COPY_SHARE: u64 = 10;

/// The same where the system does not tell.
const SMALL_COPY: u64 = 32 << 20;

/// Keeps the books of one stage.
pub(super) struct Books<'a, T, E> {
    desk: &'a mut Desk,
    evaluator: E,
    position: Position,
    early: EarlyStop,
    rate: Rate,
    clock: StageClock,
    /// What came before the first step, until it is written down.
    start: Option<Duration>,
    /// Steps taken in this session.
    taken: u64,
    pipeline: Weak<Pipeline>,
    pool: PoolWatch,
    /// Step of the checkpoint that was written last.
    saved: Option<u64>,
    /// The validation of this step was the best; its checkpoint will say so.
    best: Option<Best>,
    /// Samples that are rendered while training continues, and their step.
    rendered: Option<(Step, InProgress)>,
    /// What a stop has left undone.
    owed: Owed,
    /// Names of the clips that are trained on.
    clips: &'a [String],
    sample_rate: f64,
    peak_flops: Option<f64>,
    setting: Setting,
    /// On GPUs, in a stage that begins with a warm-up.
    kernels: Option<KernelWatch>,
    trainee: PhantomData<fn(T)>,
}

/// What the books know of the stage they are kept for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setting {
    pub(super) steps_per_epoch: u64,
    /// Whether evaluation has a device that the model does not train on.
    pub(super) has_data_device: bool,
    /// Whether kernels are compiled, and all of them before the first step.
    pub(super) has_warm_up: bool,
}

/// Speeds over the last steps.
#[derive(Debug)]
pub(super) struct Rate {
    since: Instant,
    steps: u64,
    audio: f64,
    waited: Duration,
    used: u64,
    padded: u64,
    last: Option<Numbers>,
}

/// A wait before the first step that a person wonders about.
const WORTH_A_LINE: Duration = Duration::from_secs(1);

/// Long enough to even out buckets.
const WINDOW: Duration = Duration::from_secs(5);

impl Default for Rate {
    fn default() -> Self {
        Self {
            since: Instant::now(),
            steps: 0,
            audio: 0.0,
            waited: Duration::ZERO,
            used: 0,
            padded: 0,
            last: None,
        }
    }
}

impl Rate {
    fn add(&mut self, done: &StepDone, sample_rate: f64, flops: Option<f64>) -> Numbers {
        self.steps += 1;
        self.audio += done.facts.audio.0 as f64 / sample_rate;
        self.waited += done.waited;
        self.used += done.facts.used;
        self.padded += done.facts.padded;
        let elapsed = self.since.elapsed();
        let seconds = elapsed.as_secs_f64().max(1e-9);
        if elapsed >= WINDOW || self.last.is_none() {
            self.last = Some(Numbers {
                steps_per_second: Some(self.steps as f64 / seconds),
                audio_per_second: Some(self.audio / seconds),
                data_wait: Some((self.waited.as_secs_f64() / seconds).min(1.0)),
                padding: (self.padded > 0).then(|| 1.0 - self.used as f64 / self.padded as f64),
                flops: flops.map(|flops| flops * self.padded as f64 / seconds),
                ..Numbers::default()
            });
        }
        if elapsed >= WINDOW {
            let last = self.last;
            *self = Self {
                last,
                ..Self::default()
            };
        }
        self.last.unwrap_or_default()
    }
}

impl<'a, T: Trainee, E: Evaluator<T>> Books<'a, T, E> {
    /// From the position on.
    pub(super) fn open(
        desk: &'a mut Desk,
        evaluator: E,
        position: Position,
        setting: Setting,
        job: &Job,
        material: &'a Material,
        resumed: Option<&Checkpoint>,
    ) -> Result<Self, TrainError> {
        let patience = match job.optimisation.patience {
            0 => u64::MAX,
            patience => patience,
        };
        let early = match resumed {
            Some(checkpoint) => saving::section::<EarlyStop>(checkpoint, "early_stop")?,
            None => EarlyStop::new(patience, 0.0),
        };
        let owed = resumed.map(Owed::of).transpose()?.unwrap_or_default();
        Ok(Self {
            clock: StageClock::since(desk.stage_begun),
            start: None,
            taken: 0,
            desk,
            evaluator,
            owed,
            saved: resumed.is_some().then_some(position.done),
            position,
            early: early.with_patience(patience),
            rate: Rate::default(),
            pipeline: Weak::new(),
            pool: PoolWatch::default(),
            best: None,
            rendered: None,
            clips: &material.train.ids,
            sample_rate: f64::from(job.audio.sample_rate.hz()),
            peak_flops: job.peak_flops,
            kernels: setting.has_warm_up.then(KernelWatch::warm_up),
            setting,
            trainee: PhantomData,
        })
    }

    /// With the memory watched by `pool`.
    pub(super) fn watching(self, pool: PoolWatch) -> Self {
        Self { pool, ..self }
    }

    fn step(&self) -> Step {
        Step(self.position.before + self.position.done)
    }

    fn due(&self, every: u64) -> bool {
        every > 0 && self.position.done.is_multiple_of(every)
    }

    /// A line of this step.
    fn line(&mut self) -> Record {
        let line = Record::new(self.step()).text("stage", self.position.stage.name());
        match self.start.take() {
            Some(start) => line.f64("start_s", start.as_secs_f64()),
            None => line,
        }
    }

    fn record(&mut self, done: &StepDone, kernels: Option<usize>) -> Result<(), TrainError> {
        let took = self.clock.lap();
        let mut record = self.line().f32("loss", done.loss);
        for (name, value) in &done.parts {
            record = record.f32(name, *value);
        }
        record = record
            .f32("gradient_norm", done.norm)
            .f64("learning_rate", done.rate);
        if done.skipped.is_some() {
            record = record.count("skipped", 1);
        }
        let flops = self.evaluator.flops_per_position();
        record = measured(record, done, took, self.sample_rate, flops);
        if let Some(kernels) = kernels {
            record = record.count("kernels_new", kernels as u64);
        }
        self.desk.metrics.append(&record)?;
        let stage = self.position.stage.name();
        let step = self.step();
        let mut scalar = |name: &str, value: f32| {
            let tag = format!("{stage}/{name}");
            let written = self.desk.events.scalar(&tag, step, value);
            written.map_err(TrainError::from)
        };
        scalar("loss", done.loss)?;
        for (name, value) in &done.parts {
            scalar(name, *value)?;
        }
        scalar("gradient_norm", done.norm)?;
        #[expect(clippy::cast_possible_truncation, reason = "a chart needs no more")]
        scalar("learning_rate", done.rate as f32)
    }

    /// Writes down what training stopped for after this step. Its checkpoint
    /// does not wait for this line: a run that ends before it misses nothing
    /// but the figures.
    fn record_pauses(&mut self) -> Result<(), TrainError> {
        let Some(pauses) = self.clock.pauses() else {
            return Ok(());
        };
        let record = pauses.record(self.line());
        Ok(self.desk.metrics.append(&record)?)
    }

    /// The same for all that came after the last step.
    fn record_close(&mut self) -> Result<(), TrainError> {
        let pauses = self.clock.pauses().unwrap_or_default();
        let close = self.clock.lap();
        let record = pauses.record(self.line());
        let record = record.f64("close_s", close.as_secs_f64());
        Ok(self.desk.metrics.append(&record)?)
    }

    /// Steps still to come, all stages.
    fn remaining(&self) -> u64 {
        let of_stage = self.position.steps.saturating_sub(self.position.done);
        of_stage + self.desk.outlook.steps_after(self.position.stage)
    }

    /// Has the doctor look where the warm-up is over, and after each epoch.
    fn check_up(&mut self) {
        self.taken += 1;
        let per_epoch = self.setting.steps_per_epoch;
        let ends_epoch = self.position.done.is_multiple_of(per_epoch);
        let is_too_soon = self.desk.checkup.as_ref().is_none_or(Checkup::is_too_soon);
        let (step, remaining) = (self.step(), self.remaining());
        if self.taken == checkup::FIRST {
            if let Some(line) = self.desk.check_up("after the warm-up", step, remaining) {
                self.desk.say(&line);
            }
        } else if ends_epoch && self.taken > checkup::FIRST && !is_too_soon {
            let when = format!("epoch {}", self.position.done / per_epoch);
            if let Some(line) = self.desk.check_up(&when, step, remaining) {
                // In the file alone: a small dataset has many epochs.
                let _ = self.desk.log.note(&line);
            }
        }
    }

    /// Does something that training stops for.
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

    /// Validates. What a stop interrupts is owed, and not half done.
    fn validate(&mut self, state: &State<T>) -> Result<(), TrainError> {
        let numbers = match self.evaluator.validate(state, &self.desk.stop) {
            Err(TrainError::Stopped) => {
                self.owed.validation = true;
                return Ok(());
            }
            numbers => numbers?,
        };
        self.owed.validation = false;
        had_memory("the validation")?;
        let Some((name, value)) = numbers.first().copied() else {
            return Ok(());
        };
        let mut record = self.line();
        let mut words = vec![];
        for (name, value) in &numbers {
            record = record.f32(name, *value);
            words.push(format!("{name} {value:.4}"));
            let tag = format!("{}/{name}", self.position.stage.name());
            let step = self.step();
            let written = self.desk.events.scalar(&tag, step, *value);
            written?;
        }
        self.desk.metrics.append(&record)?;
        let line = format!("step {}: {}", self.step(), words.join(", "));
        self.desk.say(&line);
        let best = Best {
            metric: format!("{}/{name}", self.position.stage.name()),
            value: f64::from(value),
        };
        match self.early.observe(self.step(), f64::from(value)) {
            Patience::Improved => self.best = Some(best),
            Patience::Waiting { .. } => {}
            Patience::Exhausted {
                best_step,
                best,
                evaluations,
            } => {
                let line = format!(
                    "no better in {evaluations} validations: stopping early; the best was {} at step {}",
                    best.unwrap_or(f64::NAN),
                    best_step.unwrap_or_default()
                );
                self.desk.say(&line);
                self.position.ended_early = self.position.done < self.position.steps;
            }
        }
        Ok(())
    }

    /// Finds out what goes with the model of a stage that is over. What a stop
    /// interrupts is owed.
    fn conclude(&mut self, state: &State<T>) -> Result<(), TrainError> {
        let line = match self.evaluator.conclude(state, &self.desk.stop) {
            Err(TrainError::Stopped) => {
                self.owed.conclusion = true;
                return Ok(());
            }
            line => line?,
        };
        self.owed.conclusion = false;
        had_memory("what was tried at the end")?;
        if let Some(line) = line {
            self.desk.say(&line);
        }
        Ok(())
    }

    /// Whether no step of the stage is left.
    fn is_over(&self) -> bool {
        self.position.ended_early || self.position.done >= self.position.steps
    }

    /// Writes a checkpoint of this step, unless there is one.
    fn save(&mut self, state: &State<T>) -> Result<(), TrainError> {
        if self.saved == Some(self.position.done) {
            return Ok(());
        }
        let contents = self.evaluator.contents(state)?;
        let mut snapshot = snapshot(
            state,
            &self.position,
            self.setting.steps_per_epoch,
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
        self.desk.save(snapshot)?;
        self.saved = Some(self.position.done);
        Ok(())
    }

    /// The end of the stage: what has not been done for its last step.
    pub(super) fn close(&mut self, state: &State<T>) -> Result<(), TrainError> {
        let _ = self.desk.progress.finish();
        if let Some(kernels) = self.kernels.take() {
            let [warm, late] = kernels.finish();
            self.desk
                .say(&format!("kernels after warm-up: {late} (in it: {warm})"));
            self.desk.late_kernels += late as u64;
        }
        let is_over = self.is_over();
        // A checkpoint of the last step was written here, after its validation.
        let is_known = self.saved == Some(self.position.done);
        if is_over && !is_known && !self.due(self.desk.cadence.validate) {
            self.pausing(Pause::Validation, |books| books.validate(state))?;
        }
        if is_over && !is_known {
            self.pausing(Pause::Validation, |books| books.conclude(state))?;
        }
        // Before a stage's first step there is nothing that is not kept.
        let has_steps = is_over || self.position.done > 0;
        if has_steps {
            self.pausing(Pause::Checkpoint, |books| books.save(state))?;
        }
        self.pausing(Pause::Samples, Self::keep_rendered)?;
        // A run that ended has its samples made when it is resumed.
        let is_heard = match is_over {
            true => self.pausing(Pause::Samples, |books| books.render(state, true))?,
            false => Some(()),
        };
        if is_heard.is_none() {
            self.say_unheard(self.step());
        }
        if !has_steps {
            return Ok(());
        }
        self.record_close()?;
        let when = format!("verdict of stage {}", self.position.stage.name());
        let (step, remaining) = (self.step(), self.remaining());
        if let Some(line) = self.desk.check_up(&when, step, remaining) {
            self.desk.say(&line);
        }
        Ok(())
    }

    /// Renders samples: beside the training where there is a device for it,
    /// or else now. What a stop interrupts is owed.
    fn sample(&mut self, state: &State<T>) -> Result<(), TrainError> {
        // Those of the last time, if they take longer than the steps between.
        self.keep_rendered()?;
        if !self.setting.has_data_device || self.desk.stop.is_asked() {
            self.owed.samples = self.render(state, false)?.is_none();
            return Ok(());
        }
        let stop = &self.desk.stop;
        let rendering = self.evaluator.samples(state, false, stop);
        match rendering.and_then(|rendering| InProgress::start(rendering, stop)) {
            Err(TrainError::Stopped) => self.owed.samples = true,
            rendering => {
                self.rendered = Some((self.step(), rendering?));
                self.owed.samples = false;
            }
        }
        Ok(())
    }

    /// Renders and keeps samples now; `None` when a stop came first.
    fn render(&mut self, state: &State<T>, all: bool) -> Result<Option<()>, TrainError> {
        let stop = &self.desk.stop;
        let rendering = unless_stopped(stop);
        let rendering = rendering.and_then(|()| self.evaluator.samples(state, all, stop));
        let heard = rendering.and_then(|rendering| match is_cpu(&state.trainee.device()) {
            // A sentence takes long here, and nobody waits for it to end.
            true => InProgress::start(rendering, stop)?.wait(stop),
            false => rendering(stop),
        });
        match heard {
            Err(TrainError::Stopped) => Ok(None),
            heard => self.desk.keep(self.step(), &heard?).map(Some),
        }
    }

    /// Waits for samples that are being rendered, and keeps them; a stop is
    /// not kept waiting.
    fn keep_rendered(&mut self) -> Result<(), TrainError> {
        let Some((step, rendering)) = self.rendered.take() else {
            return Ok(());
        };
        match rendering.wait(&self.desk.stop) {
            Err(TrainError::Stopped) => {
                self.say_unheard(step);
                Ok(())
            }
            heard => self.desk.keep(step, &heard?),
        }
    }

    fn say_unheard(&mut self, step: Step) {
        let line = format!("samples of step {step} were not finished when the stop came");
        self.desk.say(&line);
    }

    /// Does what the checkpoint that was resumed from owes, and keeps that it
    /// is done.
    fn settle_debts(&mut self, state: &State<T>) -> Result<(), TrainError> {
        let owed = self.owed;
        if !owed.is_any() {
            return Ok(());
        }
        self.desk.say(&format!(
            "what the stop left undone at step {} is done first",
            self.step()
        ));
        if owed.validation {
            self.pausing(Pause::Validation, |books| books.validate(state))?;
        }
        if owed.conclusion {
            self.pausing(Pause::Validation, |books| books.conclude(state))?;
        }
        if owed.samples && !self.is_over() {
            self.pausing(Pause::Samples, |books| books.sample(state))?;
        }
        self.saved = None;
        self.pausing(Pause::Checkpoint, |books| books.save(state))
    }

    fn show(&mut self, done: &StepDone) {
        let flops = self.evaluator.flops_per_position();
        let (place, now) = (self.desk.place, Instant::now());
        let after = self.desk.outlook.steps_after(self.position.stage);
        let of_stage = self.position.steps.saturating_sub(self.position.done);
        let numbers = Numbers {
            step: self.step(),
            total: Some(Step(self.position.before + self.position.steps + after)),
            left: self.desk.outlook.step(of_stage, now),
            stage: (place.of > 1).then_some(StageNumbers {
                name: self.position.stage.name(),
                number: place.number,
                of: place.of,
                step: Step(self.position.done),
                total: Step(self.position.steps),
            }),
            loss: Some(f64::from(done.loss)),
            peak_flops: self.peak_flops,
            memory_used: self.pool.held().or_else(resident_memory).map(Bytes),
            ..self.rate.add(done, self.sample_rate, flops)
        };
        let _ = self.desk.progress.update(&numbers, now);
        let _ = self.desk.kept_progress.update(&numbers, now);
    }

    fn say_what_happened(&mut self, done: &StepDone) {
        if let Some(why) = &done.skipped {
            let clips = done.facts.clips.iter();
            let clips: Vec<&str> = clips
                .filter_map(|clip| self.clips.get(clip.0 as usize))
                .map(String::as_str)
                .collect();
            let line = format!(
                "step {} was left out: {why}; its clips: {}",
                self.step(),
                clips.join(", ")
            );
            self.desk.say(&line);
        }
        if let Some(spike) = &done.spike {
            self.desk.say(spike);
        }
        let Some(pipeline) = self.pipeline.upgrade() else {
            return;
        };
        for change in pipeline.changes() {
            self.desk.say(&format!("smart prefetch: {change}"));
        }
        let per_epoch = self.setting.steps_per_epoch;
        if self.position.done.is_multiple_of(per_epoch) {
            let epoch = self.position.done / per_epoch;
            let line = format!("epoch {epoch}: {}", pipeline.summary().line());
            // In the file alone: a small dataset has many epochs.
            let _ = self.desk.log.note(&line);
        }
    }
}

impl<T: Trainee, E: Evaluator<T>> Watch<T> for Books<'_, T, E> {
    fn after(&mut self, done: &StepDone, state: &State<T>) -> Result<bool, TrainError> {
        // Only what steps launch has to be warm: evaluation has shapes of its own.
        let kernels = match is_cpu(&state.trainee.device()) {
            // Nothing is compiled there.
            true => Some(0),
            false => self.kernels.as_mut().and_then(KernelWatch::pause),
        };
        self.position.done = done.step;
        self.record(done, kernels)?;
        self.desk.told_of_save()?;
        self.say_what_happened(done);
        self.check_up();
        if let Some(line) = self.pool.after(&state.trainee.device())? {
            self.desk.say(&line);
        }
        let cadence = self.desk.cadence;
        if self.due(cadence.validate) {
            self.pausing(Pause::Validation, |books| books.validate(state))?;
        }
        if self
            .rendered
            .as_ref()
            .is_some_and(|(_, rendering)| rendering.is_finished())
        {
            self.pausing(Pause::Samples, Self::keep_rendered)?;
        }
        // The last step has samples of its own.
        if self.due(cadence.samples) && !self.is_over() {
            self.pausing(Pause::Samples, |books| books.sample(state))?;
        }
        // All lines of a step go before its checkpoint, or a resumed run would
        // repeat them; those of the last step are not complete yet.
        let is_due = self.best.is_some() || self.due(cadence.checkpoint);
        if is_due && !self.is_over() {
            self.pausing(Pause::Checkpoint, |books| books.save(state))?;
        }
        self.record_pauses()?;
        self.show(done);
        if let (Some(kernels), None) = (&mut self.kernels, &self.rendered) {
            kernels.count();
        }
        Ok(self.position.ended_early)
    }

    fn failed(&mut self, error: &TrainError, state: &State<T>) {
        // Before a stage's first step there is nothing that is not kept.
        if self.position.done == 0 {
            return;
        }
        let line = format!(
            "{error}\nwriting an emergency checkpoint of step {}",
            self.step()
        );
        self.desk.say(&line);
        if let Err(error) = self.save(state) {
            self.desk
                .say(&format!("the emergency checkpoint failed too: {error}"));
        }
    }
}

impl<T: Trainee, E: Evaluator<T>> StageWatch<T> for Books<'_, T, E> {
    fn started(
        &mut self,
        made: Duration,
        start: &Start,
        state: &State<T>,
    ) -> Result<bool, TrainError> {
        // Every device of the run is open by its first stage.
        let is_configured = std::mem::replace(&mut self.desk.is_configured, true);
        if self.setting.has_data_device && !is_configured {
            self.desk
                .say("Multi-GPU configuration completed successfully");
        }
        // Where kernels are compiled this is what took so long.
        if made >= WORTH_A_LINE {
            let line = format!("devices were ready after {:.2} s", made.as_secs_f64());
            self.desk.say(&line);
        }
        self.desk.say(&start.to_string());
        if self.evaluator.flops_per_position().is_none() {
            let stage = self.position.stage.name();
            self.desk.say(&format!(
                "compute is not shown in the {stage} stage: its operations are not counted"
            ));
        }
        self.settle_debts(state)?;
        self.record_pauses()?;
        self.start = Some(self.clock.lap());
        self.desk.say("Model training starting now");
        if let Some(kernels) = &mut self.kernels {
            kernels.count();
        }
        self.rate = Rate::default();
        let outlook = &mut self.desk.outlook;
        outlook.begin(self.position.stage, Instant::now());
        Ok(self.position.ended_early)
    }

    fn pipeline(&mut self, pipeline: Weak<Pipeline>) {
        self.pipeline = pipeline;
    }
}

/// Numbers and sound that a device without memory made are not kept.
pub(super) fn had_memory(what: &str) -> Result<(), TrainError> {
    no_memory_fault().map_err(|why| {
        TrainError::Failed(format!(
            "{what} ran out of device memory\n  found: {why}\n  fix:   halve --batch-size, and \
             double --grad-accum to keep the clips of a step"
        ))
    })
}
