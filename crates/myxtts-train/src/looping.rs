//! The training loop, the same for every stage, mode and number of replicas.

use burn::tensor::{Tensor, TensorData};
use myxtts_device::no_memory_fault;
use myxtts_model::init::mix;
use myxtts_ops::on_cores;
use myxtts_pipeline::{Delivered, Lane};
use myxtts_run::guard::{NonFinite, NonFiniteVerdict, SpikeAction, SpikeDetector};
use myxtts_run::schedule::Schedule;
use myxtts_run::units::Step;

use crate::ema::Ema;
use crate::error::TrainError;
use crate::feed::{Facts, Fed};
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
    pub waited: std::time::Duration,
}

/// Told of every step; on one replica it keeps the run's books.
pub trait Watch<T> {
    /// After a step. `true` asks all replicas to stop after it.
    fn after(&mut self, done: &StepDone, state: &State<T>) -> Result<bool, TrainError>;
    /// Whether somebody outside has asked to stop.
    fn wants_to_stop(&self) -> bool;
    /// A step failed, or what comes after one; the state is that of the last step done.
    fn failed(&mut self, _error: &TrainError, _state: &State<T>) {}
}

/// Trains until the recipe's last step, or until somebody asks to stop.
pub fn train<T: Trainee>(
    mut state: State<T>,
    mut lane: Lane<Fed<T::Batch>>,
    recipe: &Recipe,
    seat: &Seat,
    watch: &mut dyn Watch<T>,
) -> Result<State<T>, TrainError> {
    let (begun, mut is_enough) = (state.done, false);
    while state.done < recipe.steps && !agreed(is_enough || watch.wants_to_stop(), seat)? {
        let gathered = gather(&mut lane, recipe.accumulation);
        let gathered = gathered.inspect_err(|error| watch.failed(error, &state))?;
        let Some(micro) = gathered else {
            break;
        };
        let shares = shares(&micro, seat)?;
        let key = mix(recipe.seed ^ mix(state.done));
        let rate = recipe.schedule.lr(Step(state.done));
        let mut tally = Tally::new(state.done + 1, rate, &micro);
        let mut traces = vec![];
        for phase in 0..T::PHASES {
            let passes = Passes {
                batches: micro.iter().map(|micro| &micro.batch.batch).collect(),
                shares: &shares,
                scale: state.scale.factor(),
                clip: recipe.gradient_clip,
                phase,
                key,
            };
            let computed = passes.gradients(&state.trainee, seat, &mut tally, &mut traces);
            let (gradients, norm) = told(computed, &tally, &state, watch)?;
            let is_last = phase + 1 == T::PHASES;
            let is_good = tally.is_good(norm, is_last, seat, &mut state);
            if !told(is_good, &tally, &state, watch)? {
                break;
            }
            let optimiser = &mut state.optimisers[phase];
            let device = state.trainee.device();
            let step = || state.trainee.stepped(phase, optimiser, gradients, rate);
            state.trainee = on_cores(&device, step);
        }
        if tally.done.skipped.is_none() {
            state.trainee = state.trainee.absorbed(&traces, key);
            state = state.share_absorbed(seat)?;
            state.average();
        }
        drop((traces, micro));
        // The step that asks for the moments' memory. Later ones get what the
        // one before gave back: one that runs out has changed nothing yet.
        if state.done == begun {
            settled(&state.trainee, tally.done.step, &tally.done.facts)?;
        }
        state.done += 1;
        state.compare(recipe, seat)?;
        let noted = watch.after(&tally.done, &state);
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

type Micro<B> = Vec<Delivered<Fed<B>>>;

/// The batches of one step; `None` at the end of the data.
fn gather<B>(lane: &mut Lane<Fed<B>>, accumulation: usize) -> Result<Option<Micro<B>>, TrainError> {
    let mut micro = vec![];
    while micro.len() < accumulation.max(1) {
        match lane.next()? {
            Some(delivered) => micro.push(delivered),
            None => return Ok(None),
        }
    }
    Ok(Some(micro))
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
        let mut tally = Tally::new::<T::Batch>(0, 0.0, &vec![]);
        let mut traces = vec![];
        for (phase, optimiser) in optimisers.iter_mut().enumerate() {
            let passes = Passes {
                batches: vec![&batch; accumulated],
                shares: &vec![vec![]; accumulated],
                scale: LossScale::of(trainee.compute()).factor(),
                clip: recipe.gradient_clip,
                phase,
                key: 0,
            };
            let computed = passes.gradients(&trainee, &seat, &mut tally, &mut traces);
            let (gradients, norm) = computed.map_err(told)?;
            tally.read(norm).map_err(told)?;
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

/// The forward and backward passes of one phase of a step.
struct Passes<'a, B> {
    batches: Vec<&'a B>,
    shares: &'a [Vec<f64>],
    /// Of the loss, in half precision.
    scale: f64,
    /// Largest norm of the gradient.
    clip: f64,
    phase: usize,
    key: u64,
}

impl<B: Sync> Passes<'_, B> {
    /// The mean gradient over all batches and replicas, shortened, and its norm
    /// from before.
    fn gradients<T: Trainee<Batch = B>>(
        &self,
        trainee: &T,
        seat: &Seat,
        tally: &mut Tally,
        traces: &mut Vec<T::Trace>,
    ) -> Result<(NamedGradients, Option<Tensor<1>>), TrainError> {
        let device = trainee.device();
        // Not while the replicas wait for each other: they may share the cores.
        let own = on_cores(&device, || self.own_gradients(trainee, seat, tally, traces))?;
        let mean = seat.mean_gradients(own)?;
        Ok(on_cores(&device, || mean.clip(self.clip)))
    }

    /// The sum over this replica's batches.
    fn own_gradients<T: Trainee<Batch = B>>(
        &self,
        trainee: &T,
        seat: &Seat,
        tally: &mut Tally,
        traces: &mut Vec<T::Trace>,
    ) -> Result<NamedGradients, TrainError> {
        let mut gradients = NamedGradients::default();
        for (index, (batch, shares)) in self.batches.iter().zip(self.shares).enumerate() {
            let key = mix(self.key ^ mix((seat.rank + seat.members() * index) as u64));
            let pass = trainee.pass(self.phase, batch, shares, key, self.scale);
            let pass = pass.map_err(|why| TrainError::step(tally.done.step, why))?;
            tally.add(pass.total, pass.parts);
            gradients.add(pass.gradients);
            traces.push(pass.trace);
        }
        Ok(match self.scale {
            1.0 => gradients,
            scale => gradients.scale(1.0 / scale),
        })
    }
}

/// How much of the step's mean each batch is, part by part.
///
/// The gradients of replicas are averaged, and those of a replica's batches
/// added: a batch with n of N targets in the whole step has the share
/// n x replicas / N, and the sum is the gradient of one large batch.
fn shares<B>(micro: &Micro<B>, seat: &Seat) -> Result<Vec<Vec<f64>>, TrainError> {
    let parts = micro
        .first()
        .map_or(0, |first| first.batch.facts.targets.len());
    let of = |fed: &Fed<B>, part: usize| fed.facts.targets.get(part).copied().unwrap_or(0);
    let own = (0..parts).map(|part| {
        let sum: usize = micro.iter().map(|d| of(&d.batch, part)).sum();
        sum as f32
    });
    let mean = seat.mean(own.collect())?;
    Ok(micro
        .iter()
        .map(|delivered| {
            (0..parts)
                .zip(&mean)
                .map(|(part, mean)| match of(&delivered.batch, part) {
                    0 => 0.0,
                    targets => targets as f64 / f64::from(*mean),
                })
                .collect()
        })
        .collect())
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
}

impl Tally {
    fn new<B>(step: u64, rate: f64, micro: &Micro<B>) -> Self {
        let mut facts = Facts::default();
        let mut waited = std::time::Duration::ZERO;
        for delivered in micro {
            facts.join(&delivered.batch.facts);
            waited += delivered.waited;
        }
        Self {
            done: StepDone {
                step,
                loss: 0.0,
                parts: vec![],
                norm: 0.0,
                rate,
                skipped: None,
                spike: None,
                facts,
                waited,
            },
            unread: vec![],
        }
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
    fn read(&mut self, norm: Option<Tensor<1>>) -> Result<(), TrainError> {
        let (names, mut values): (Vec<_>, Vec<_>) = self.unread.drain(..).unzip();
        values.extend(norm);
        if values.is_empty() {
            return Ok(());
        }
        let values = Tensor::cat(values, 0).try_into_vec_as::<f32>();
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
        self.read(norm)?;
        let own = [self.done.loss].into_iter();
        let own = own.chain(self.done.parts.iter().map(|(_, value)| *value));
        let mut means = seat.mean(own.collect())?.into_iter();
        self.done.loss = means.next().unwrap_or(f32::NAN);
        for ((_, value), mean) in self.done.parts.iter_mut().zip(means) {
            *value = mean;
        }
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

    fn average(&mut self) {
        if let Some(ema) = &mut self.ema {
            ema.after(self.done + 1, || self.trainee.state());
        }
    }

    /// Averages what was learnt without gradients: each replica learnt it from
    /// its own batches.
    fn share_absorbed(self, seat: &Seat) -> Result<Self, TrainError> {
        let names = T::absorbs();
        if seat.members() == 1 || names.is_empty() {
            return Ok(self);
        }
        let mut state = self.trainee.state();
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
        for data in self.trainee.state().values() {
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
