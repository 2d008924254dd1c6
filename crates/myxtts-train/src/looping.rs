//! The training loop, the same for every stage, mode and number of replicas.

use std::time::Duration;

use burn::tensor::{Tensor, TensorData};
use myxtts_base::process::ThreadTime;
use myxtts_device::no_memory_fault;
use myxtts_model::init::mix;
use myxtts_model::params::ReadError;
use myxtts_ops::on_cores;
use myxtts_pipeline::{Lane, Ticket};
use myxtts_run::guard::{NonFinite, NonFiniteVerdict, SpikeAction, SpikeDetector};
use myxtts_run::schedule::Schedule;
use myxtts_run::signals::StopRequest;
use myxtts_run::units::Step;

use crate::ema::Ema;
use crate::error::{TrainError, unless_stopped};
use crate::faults::StepFaults;
use crate::feed::{Facts, Fed, Targets};
use crate::meter::{Meter, StepClock, Together, Waits};
use crate::optim::{AdamW, NamedGradients};
use crate::scaler::LossScale;
use crate::team::Seat;
use crate::trainee::Trainee;

/// What the loop is told.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// Steps of the stage.
    pub steps: u64,
    /// Batches of a step, on each replica.
    pub accumulation: usize,
    /// Learning rate by step of the stage.
    pub schedule: Schedule,
    /// Largest norm of a gradient.
    pub gradient_clip: f64,
    /// Seed of what is drawn in a step.
    pub seed: u64,
    /// Steps between two comparisons of the replicas' weights; 0 for never.
    pub compare_every: u64,
    /// What is to go wrong, in a test.
    #[doc(hidden)]
    pub faults: StepFaults,
}

/// What a stage carries from step to step, and a checkpoint from run to run.
#[derive(Debug)]
pub struct State<T> {
    /// The model.
    pub trainee: T,
    /// One for each phase.
    pub optimisers: Vec<AdamW>,
    /// A moving average of the weights, where one is kept.
    pub ema: Option<Ema>,
    /// Steps of the stage that were taken.
    pub done: u64,
    /// Judges losses that are not numbers.
    pub non_finite: NonFinite,
    /// Judges losses that jump.
    pub spikes: SpikeDetector,
    /// For half precision.
    pub scale: LossScale,
}

/// What one step was.
#[derive(Clone, Debug, PartialEq)]
pub struct StepDone {
    /// Its number in the stage, from 1.
    pub step: u64,
    /// The whole loss, over all replicas.
    pub loss: f32,
    /// Its parts.
    pub parts: Vec<(&'static str, f32)>,
    /// Norm of the gradient before it was shortened.
    pub norm: f32,
    /// The learning rate.
    pub rate: f64,
    /// Whether it was left out, and why.
    pub skipped: Option<String>,
    /// A loss that jumped.
    pub spike: Option<String>,
    /// What this replica's batches held.
    pub facts: Facts,
    /// Time this replica waited for them.
    pub waited: Duration,
    /// What it waited for otherwise.
    pub waits: Waits,
    /// What its thread did, where the system tells: on a GPU, it queues work.
    pub thread: Option<ThreadTime>,
    /// What all replicas' batches held, and how long each has worked.
    pub together: Together,
}

/// Told of every step; on one replica it keeps the run's books.
pub trait Watch<T> {
    /// After a step. `true` asks all replicas to stop after it.
    fn after(&mut self, done: &StepDone, state: &State<T>) -> Result<bool, TrainError>;
    /// A step failed, or what comes after one; the state is that of the last step done.
    fn failed(&mut self, _error: &TrainError, _state: &State<T>) {}
}

/// Where a replica's batches come from, and until when.
#[derive(Debug)]
pub struct Intake<B> {
    /// The batches.
    pub lane: Lane<Fed<B>>,
    /// Which of the model devices it is for.
    pub rank: usize,
    /// How many targets they have.
    pub targets: Targets,
    /// Whether somebody has asked for the end.
    pub stop: StopRequest,
}

/// Trains until the recipe's last step, or until somebody asks to stop: then
/// the step under way is finished if it has all its batches, and otherwise
/// given up before anything of it is applied.
pub fn train<T: Trainee>(
    mut state: State<T>,
    mut intake: Intake<T::Batch>,
    recipe: &Recipe,
    seat: &Seat,
    watch: &mut dyn Watch<T>,
) -> Result<State<T>, TrainError> {
    let (begun, mut is_enough, stop) = (state.done, false, intake.stop.clone());
    while state.done < recipe.steps {
        match agreed(is_enough || stop.is_asked(), seat) {
            Ok(false) => {}
            Ok(true) => break,
            Err(error) if error.is_let_go(&stop) => break,
            Err(error) => return Err(error),
        }
        let key = mix(recipe.seed ^ mix(state.done));
        let rate = recipe.schedule.lr(Step(state.done));
        let mut tally = Tally::new(state.done + 1, rate, &seat.meter);
        if state.trainee.enter(state.done) {
            state.spikes.forget();
        }
        let phases: Vec<usize> = (0..T::PHASES)
            .filter(|phase| state.trainee.takes_part(*phase))
            .collect();
        let mut batches = StepBatches::new(&mut intake, recipe.accumulation, state.done);
        let mut traces = vec![];
        recipe.faults.delay(seat.rank);
        for &phase in &phases {
            let mut passes = Passes {
                scale: state.scale.factor(),
                ..Passes::new(&state.trainee, seat, phase, key)
            };
            let computed = match batches.pass(&mut passes, &mut tally, &mut traces) {
                Ok(true) => passes.finish(recipe.gradient_clip),
                Ok(false) => return Ok(state),
                Err(error) => Err(error),
            };
            let is_first = phases.first() == Some(&phase);
            if is_first && computed.as_ref().is_err_and(|error| error.is_let_go(&stop)) {
                return Ok(state);
            }
            let (gradients, norm) = told(computed, &tally, &state, watch)?;
            let is_last = phases.last() == Some(&phase);
            let is_good = tally.is_good(norm, is_last, seat, &mut state);
            if !told(is_good, &tally, &state, watch)? {
                break;
            }
            let optimiser = &mut state.optimisers[phase];
            let device = state.trainee.device();
            let rate = rate * state.trainee.pace(phase);
            tally.done.rate = rate;
            let step = || state.trainee.stepped(phase, optimiser, gradients, rate);
            state.trainee = on_cores(&device, step);
        }
        if tally.done.skipped.is_none() {
            state.trainee = state.trainee.absorbed(&traces, key);
            state = state.share_absorbed(seat)?;
            state.average(&seat.meter)?;
        }
        drop((traces, batches));
        // The step that asks for the moments' memory. Later ones get what the
        // one before gave back: one that runs out has changed nothing yet.
        if state.done == begun {
            let wait = || settled(&state.trainee, tally.done.step, &tally.done.facts);
            seat.meter.reading_back(wait)?;
        }
        for _ in 0..recipe.faults.reads {
            let read = seat.meter.reading_back(|| state.trainee.state());
            read.map_err(TrainError::failed)?;
        }
        state.done += 1;
        state.compare(recipe, seat)?;
        let noted = watch.after(&tally.timed(&seat.meter), &state);
        is_enough = noted.inspect_err(|error| watch.failed(error, &state))?;
    }
    Ok(state)
}

/// Waits until everything is computed, and says if not.
fn settled<T: Trainee>(trainee: &T, step: u64, facts: &Facts) -> Result<(), TrainError> {
    let synced = trainee.device().inner().sync();
    let computed = synced.map_err(|why| why.to_string());
    let computed = computed.and_then(|()| no_memory_fault());
    computed.map_err(|why| TrainError::step(step, why).in_batch(step, facts))
}

/// What a step's part gave, or its failure in full words, told to the books.
fn told<T, V>(
    result: Result<V, TrainError>,
    tally: &Tally,
    state: &State<T>,
    watch: &mut dyn Watch<T>,
) -> Result<V, TrainError> {
    result
        .map_err(|error| error.in_batch(tally.done.step, &tally.done.facts))
        .inspect_err(|error| watch.failed(error, state))
}

/// The batches of one step, taken one by one.
///
/// A batch is dropped after its pass, and its place in the pipeline goes to
/// the next: a step may have more batches than fit into the pipeline. Only a
/// trainee with a second phase needs them again, so its batches are kept,
/// without their places, until the step is done.
struct StepBatches<'a, B> {
    intake: &'a mut Intake<B>,
    accumulation: usize,
    /// The first one's number, counted through the stage.
    first: u64,
    kept: Vec<Fed<B>>,
    whole: Option<Whole>,
}

impl<'a, B> StepBatches<'a, B> {
    fn new(intake: &'a mut Intake<B>, accumulation: usize, done: u64) -> Self {
        let accumulation = accumulation.max(1);
        Self {
            intake,
            accumulation,
            first: done * accumulation as u64,
            kept: vec![],
            whole: None,
        }
    }

    /// A phase's passes over all of them; `false` at the end of the data.
    fn pass<T: Trainee<Batch = B>>(
        &mut self,
        passes: &mut Passes<'_, T>,
        tally: &mut Tally,
        traces: &mut Vec<T::Trace>,
    ) -> Result<bool, TrainError> {
        if self.whole.is_some() {
            for fed in &self.kept {
                let shares = self.whole.iter().flat_map(|whole| whole.shares(&fed.facts));
                passes.pass(&fed.batch, &shares.collect::<Vec<_>>(), tally, traces)?;
            }
            return Ok(true);
        }
        for _ in 0..self.accumulation {
            unless_stopped(&self.intake.stop)?;
            let Some(delivered) = self.intake.lane.next()? else {
                return Ok(false);
            };
            let facts = &delivered.batch.facts;
            tally.meet(facts, delivered.waited);
            let whole = match self.whole.take() {
                Some(whole) => whole,
                None => self.whole(facts, passes.seat)?,
            };
            let shares = whole.shares(facts);
            self.whole = Some(whole);
            passes.pass(&delivered.batch.batch, &shares, tally, traces)?;
            if T::PHASES > 1 {
                self.kept.push(delivered.into_batch());
            }
        }
        Ok(true)
    }

    /// The targets of the whole step, `first` being its first batch. One that
    /// is the only one is counted itself; for more the plan of the data says.
    fn whole(&self, first: &Facts, seat: &Seat) -> Result<Whole, TrainError> {
        let own = match self.accumulation {
            1 => first.targets.clone(),
            count => {
                let ticket = Ticket {
                    step: self.first,
                    lane: self.intake.rank,
                };
                self.intake.targets.sum(ticket, count)
            }
        };
        let own = own.into_iter().map(|targets| targets as f32);
        Ok(Whole(seat.mean(own.collect())?))
    }
}

/// Targets of a whole step, part by part: the mean over replicas of what each
/// has in all its batches.
///
/// The gradients of replicas are averaged, and those of a replica's batches
/// added: a batch with n of N targets in the whole step has the share
/// n x replicas / N, and the sum is the gradient of one large batch.
struct Whole(Vec<f32>);

impl Whole {
    /// How much of the step's mean a batch is.
    fn shares(&self, facts: &Facts) -> Vec<f64> {
        let of = |part: usize| facts.targets.get(part).copied().unwrap_or(0);
        let shares = self
            .0
            .iter()
            .enumerate()
            .map(|(part, mean)| match of(part) {
                0 => 0.0,
                targets => targets as f64 / f64::from(*mean),
            });
        shares.collect()
    }
}

/// A step on one batch after another at a rate of zero: everything a step
/// computes, and the weights stay what they are. `optimisers` are used up.
pub(crate) fn rehearse<T: Trainee>(
    mut trainee: T,
    mut optimisers: Vec<AdamW>,
    batches: impl IntoIterator<Item = (Facts, T::Batch)>,
    recipe: &Recipe,
    replicas: usize,
) -> Result<T, TrainError> {
    let seat = Seat::rehearsing(replicas);
    // The third batch of a step is added as the second is.
    let accumulated = recipe.accumulation.clamp(1, 2);
    let mut last = None;
    for (facts, batch) in batches {
        let told = |error: TrainError| error.in_batch(0, &facts);
        let mut tally = Tally::new(0, 0.0, &seat.meter);
        let mut traces = vec![];
        for (phase, optimiser) in optimisers.iter_mut().enumerate() {
            let mut passes = Passes {
                scale: LossScale::of(trainee.compute()).factor(),
                ..Passes::new(&trainee, &seat, phase, 0)
            };
            for _ in 0..accumulated {
                let pass = passes.pass(&batch, &[], &mut tally, &mut traces);
                pass.map_err(told)?;
            }
            let computed = passes.finish(recipe.gradient_clip);
            let (gradients, norm) = computed.map_err(told)?;
            tally.read(norm, &seat.meter).map_err(told)?;
            trainee = trainee.stepped(phase, optimiser, gradients, 0.0);
        }
        // As in a training: what the engine fuses depends on what it has
        // waited for before.
        if last.is_none() {
            settled(&trainee, 0, &facts)?;
        }
        last = Some(facts);
    }
    // Before the moments go: what is left of the last step is computed with
    // them. Not after each, or no step would be fused with the one after it.
    settled(&trainee, 0, &last.unwrap_or_default())?;
    Ok(trainee)
}

/// The forward and backward passes of one phase of a step, and the sum of
/// their gradients.
struct Passes<'a, T> {
    trainee: &'a T,
    seat: &'a Seat,
    /// Of the loss, in half precision.
    scale: f64,
    phase: usize,
    key: u64,
    gradients: NamedGradients,
    /// Passes so far.
    count: usize,
}

impl<'a, T: Trainee> Passes<'a, T> {
    fn new(trainee: &'a T, seat: &'a Seat, phase: usize, key: u64) -> Self {
        Self {
            trainee,
            seat,
            scale: 1.0,
            phase,
            key,
            gradients: NamedGradients::default(),
            count: 0,
        }
    }

    /// There and back over the next batch of this replica.
    fn pass(
        &mut self,
        batch: &T::Batch,
        shares: &[f64],
        tally: &mut Tally,
        traces: &mut Vec<T::Trace>,
    ) -> Result<(), TrainError> {
        let index = self.seat.rank + self.seat.members() * self.count;
        let key = mix(self.key ^ mix(index as u64));
        self.count += 1;
        let (trainee, phase, scale) = (self.trainee, self.phase, self.scale);
        let sum = &mut self.gradients;
        // Not while it waits for a batch, or for other replicas: they may
        // share the cores.
        on_cores(&trainee.device(), || {
            let pass = trainee.pass(phase, batch, shares, key, scale);
            let pass = pass.map_err(|why| TrainError::step(tally.done.step, why))?;
            tally.add(pass.total, pass.parts);
            sum.add(pass.gradients);
            traces.push(pass.trace);
            Ok(())
        })
    }

    /// The mean gradient over all batches and replicas, shortened to a norm of
    /// `clip`, and its norm from before.
    fn finish(self, clip: f64) -> Result<(NamedGradients, Option<Tensor<1>>), TrainError> {
        let device = self.trainee.device();
        let own = match self.scale {
            1.0 => self.gradients,
            scale => on_cores(&device, || self.gradients.scale(1.0 / scale)),
        };
        let mean = self.seat.mean_gradients(own)?;
        Ok(on_cores(&device, || mean.clip(clip)))
    }
}

/// Whether anybody asks to stop; all replicas do the same step last.
fn agreed(stop: bool, seat: &Seat) -> Result<bool, TrainError> {
    let votes = seat.mean(vec![if stop { 1.0 } else { 0.0 }])?;
    Ok(votes.iter().any(|votes| *votes > 0.0))
}

/// The numbers of a step, as they become known.
struct Tally {
    done: StepDone,
    /// Numbers still on the device: parts by name, whole losses without one.
    unread: Vec<(Option<&'static str>, Tensor<1>)>,
    clock: StepClock,
}

impl Tally {
    fn new(step: u64, rate: f64, meter: &Meter) -> Self {
        Self {
            done: StepDone {
                step,
                loss: 0.0,
                parts: vec![],
                norm: 0.0,
                rate,
                skipped: None,
                spike: None,
                facts: Facts::default(),
                waited: Duration::ZERO,
                waits: Waits::default(),
                thread: None,
                together: Together::default(),
            },
            unread: vec![],
            clock: StepClock::start(meter),
        }
    }

    /// The step, now that it is over.
    fn timed(mut self, meter: &Meter) -> StepDone {
        (self.done.waits, self.done.thread) = self.clock.stop(meter);
        self.done
    }

    /// A batch is there.
    fn meet(&mut self, facts: &Facts, waited: Duration) {
        self.done.facts.join(facts);
        self.done.waited += waited;
    }

    /// Takes a batch's losses, unread: a read waits for the device, and there
    /// is one for all numbers of a phase, after its backward passes are queued.
    fn add(&mut self, total: Tensor<1>, parts: Vec<(&'static str, Tensor<1>)>) {
        self.unread.push((None, total));
        let parts = parts.into_iter();
        self.unread
            .extend(parts.map(|(name, value)| (Some(name), value)));
    }

    /// Reads what was added, and the gradient's norm.
    fn read(&mut self, norm: Option<Tensor<1>>, meter: &Meter) -> Result<(), TrainError> {
        let (names, mut values): (Vec<_>, Vec<_>) = self.unread.drain(..).unzip();
        values.extend(norm);
        if values.is_empty() {
            return Ok(());
        }
        let values = meter.reading_back(|| Tensor::cat(values, 0).try_into_vec_as::<f32>());
        let step = self.done.step;
        let values = values.map_err(|why| TrainError::step(step, why.to_string()))?;
        no_memory_fault().map_err(|why| TrainError::step(step, why))?;
        self.done.norm = values.get(names.len()).copied().unwrap_or(0.0);
        for (name, value) in names.into_iter().zip(values) {
            let parts = &mut self.done.parts;
            match name {
                None => self.done.loss += value,
                Some(name) => match parts.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, sum)) => *sum += value,
                    None => parts.push((name, value)),
                },
            }
        }
        Ok(())
    }

    /// Losses, counts and times of all replicas; with one, its own.
    fn come_together(&mut self, seat: &Seat) -> Result<(), TrainError> {
        let (done, members) = (&mut self.done, seat.members());
        if members == 1 {
            done.together = Together::alone(&done.facts);
            return Ok(());
        }
        let worked = self.clock.worked(&seat.meter, done.waited);
        let own = done.parts.iter().map(|(_, value)| *value);
        let own = own.chain([done.loss]);
        let own = own.chain(Together::part(&done.facts, worked, seat.rank, members));
        let means = seat.mean(own.collect())?;
        let (parts, rest) = means.split_at(done.parts.len());
        for ((_, value), mean) in done.parts.iter_mut().zip(parts) {
            *value = *mean;
        }
        if let Some((loss, rest)) = rest.split_first() {
            done.loss = *loss;
            done.together = Together::of(rest, members);
        }
        Ok(())
    }

    /// Whether the phase may be applied; the guards judge a step once, by its
    /// last phase or the first that is bad. All replicas see the same numbers
    /// and come to the same answer.
    fn is_good<T>(
        &mut self,
        norm: Option<Tensor<1>>,
        is_last: bool,
        seat: &Seat,
        state: &mut State<T>,
    ) -> Result<bool, TrainError> {
        self.read(norm, &seat.meter)?;
        self.come_together(seat)?;
        if !is_last && self.done.loss.is_finite() && self.done.norm.is_finite() {
            return Ok(true);
        }
        let step = Step(self.done.step);
        if state.scale.overflowed(self.done.loss, self.done.norm) {
            self.done.skipped = Some(format!(
                "the gradient overflowed half precision; the loss is now scaled by {}",
                state.scale.factor()
            ));
            return Ok(false);
        }
        let clips = || self.done.facts.clips.iter().map(|clip| clip.0.to_string());
        let verdict = state
            .non_finite
            .judge(step, self.done.loss, self.done.norm, || clips().collect());
        match verdict {
            NonFiniteVerdict::Apply => {}
            NonFiniteVerdict::Skip { streak } => {
                self.done.skipped = Some(format!(
                    "loss {} and gradient norm {} are not both numbers ({streak} in a row)",
                    self.done.loss, self.done.norm
                ));
                return Ok(false);
            }
            NonFiniteVerdict::Stop(report) => return Err(TrainError::BadSteps(report)),
        }
        if let Some(spike) = state.spikes.observe(step, f64::from(self.done.loss)) {
            self.done.spike = Some(spike.to_string());
            if spike.action == SpikeAction::Skip {
                self.done.skipped = Some("the loss jumped".to_owned());
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl<T: Trainee> State<T> {
    /// Before the first step.
    pub fn new(trainee: T, optimisers: Vec<AdamW>, ema: Option<Ema>, guards: Guards) -> Self {
        Self {
            trainee,
            optimisers,
            ema,
            done: 0,
            non_finite: NonFinite::new(guards.bad_steps),
            spikes: SpikeDetector::new(guards.spikes),
            scale: guards.scale,
        }
    }

    fn average(&mut self, meter: &Meter) -> Result<(), TrainError> {
        let Some(ema) = &mut self.ema else {
            return Ok(());
        };
        let step = self.done + 1;
        ema.after(step, meter, || self.trainee.tensors())
            .map_err(|why| TrainError::step(step, why.to_string()))
    }

    /// Averages what was learnt without gradients: each replica learnt it from
    /// its own batches.
    fn share_absorbed(self, seat: &Seat) -> Result<Self, TrainError> {
        let names = T::absorbs();
        if seat.members() == 1 || names.is_empty() {
            return Ok(self);
        }
        let unread = |why: ReadError| TrainError::step(self.done + 1, why.to_string());
        let read = || self.trainee.state();
        let mut state = seat.meter.reading_back(read).map_err(unread)?;
        for name in names {
            let Some(data) = state.get_mut(*name) else {
                continue;
            };
            let values = seat.mean(data.iter::<f32>().collect())?;
            *data = TensorData::new(values, data.shape().to_vec());
        }
        let trainee = self.trainee.with_state(&state);
        let trainee = trainee.map_err(|why| TrainError::step(self.done + 1, why))?;
        Ok(Self { trainee, ..self })
    }

    /// Replicas that differ are a defect, and worth nothing from then on.
    fn compare(&self, recipe: &Recipe, seat: &Seat) -> Result<(), TrainError> {
        let every = recipe.compare_every;
        if seat.members() == 1 || every == 0 || !self.done.is_multiple_of(every) {
            return Ok(());
        }
        let mut hasher = blake3::Hasher::new();
        for tensor in self.trainee.tensors() {
            let data = seat.meter.reading_back(|| tensor.read());
            let data = data.map_err(|why| TrainError::step(self.done, why.to_string()))?;
            hasher.update(data.as_bytes());
        }
        let own: Vec<f32> = hasher.finalize().as_bytes().map(f32::from).to_vec();
        // Bytes are exact in f32, and so is the mean of equal ones.
        match seat.mean(own.clone())? == own {
            true => Ok(()),
            false => Err(TrainError::Diverged { step: self.done }),
        }
    }
}

/// Start values of the guards.
#[derive(Clone, Copy, Debug)]
pub struct Guards {
    /// Bad steps in a row that are left out.
    pub bad_steps: usize,
    /// When a loss jumps.
    pub spikes: myxtts_run::guard::SpikeSettings,
    /// Scale of the loss.
    pub scale: LossScale,
}
