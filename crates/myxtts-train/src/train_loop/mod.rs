//! The training loop, the same for every stage, mode and number of replicas.

mod ema;
mod loss_scale;
mod meter;
mod passes;
mod rehearsal;
mod replicas;
mod state;
mod step_batches;
mod step_metrics;

use myxtts_device::no_memory_fault;
use myxtts_model::init::mix;
use myxtts_pipeline::Lane;
use myxtts_run::schedule::Schedule;
use myxtts_run::signals::StopRequest;
use myxtts_run::units::Step;

pub use ema::Ema;
pub use loss_scale::LossScale;
pub(crate) use meter::Meter;
pub use meter::{Together, Waits};
pub(crate) use rehearsal::rehearse;
pub use replicas::{Abandoned, Seat, TeamError};
pub(crate) use replicas::{Averaging, InProcess};
pub use state::{Guards, State};
pub use step_metrics::StepDone;

use crate::error::TrainError;
use crate::faults::StepFaults;
use crate::feed::{Facts, Fed, Targets};
use crate::objective::Trainee;
use passes::Passes;
use step_batches::StepBatches;
use step_metrics::Tally;

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
        let phases = state.phases();
        let mut batches = StepBatches::new(&mut intake, recipe.accumulation, state.done);
        let mut traces = vec![];
        recipe.faults.delay(seat.rank);
        for &phase in &phases {
            let scale = state.scale.factor();
            let mut passes = Passes::new(&state.trainee, seat, phase, key, scale);
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
            tally.done.rate = rate * state.trainee.pace(phase);
            state = state.stepped(phase, gradients, tally.done.rate);
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
        state.read_back(recipe.faults.reads, &seat.meter)?;
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

/// Whether anybody asks to stop; all replicas do the same step last.
fn agreed(stop: bool, seat: &Seat) -> Result<bool, TrainError> {
    let votes = seat.mean(vec![if stop { 1.0 } else { 0.0 }])?;
    Ok(votes.iter().any(|votes| *votes > 0.0))
}
