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

/// The settings of the loop.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// Steps of the stage, counted from its beginning.
    pub steps: u64,
    /// Batches of a step, on each replica.
    pub accumulation: usize,
    /// Learning rate by step of the stage.
    pub schedule: Schedule,
    /// The largest norm of a gradient; a longer one is shortened to it.
    pub gradient_clip: f64,
    /// Seed of everything that is drawn at random in a step.
    pub seed: u64,
    /// Steps between two comparisons of the replicas' weights; 0 for never.
    pub compare_every: u64,
    /// Faults to inject, in a test.
    #[doc(hidden)]
    pub faults: StepFaults,
}

/// Observes every step; for the first replica it records the run.
pub trait Watch<T> {
    /// Called after a step. Returning `true` asks all replicas to stop.
    fn after(&mut self, done: &StepDone, state: &State<T>) -> Result<bool, TrainError>;
    /// Called when a step fails, or what follows one; `_state` is that of the last step taken.
    fn failed(&mut self, _error: &TrainError, _state: &State<T>) {}
}

/// Where a replica's batches come from, and when to stop taking them.
#[derive(Debug)]
pub struct Intake<B> {
    /// The batches made for this replica.
    pub lane: Lane<Fed<B>>,
    /// The replica's place among the model devices.
    pub rank: usize,
    /// How many targets each batch has.
    pub targets: Targets,
    /// Tells whether a stop was requested.
    pub stop: StopRequest,
}

/// Trains until the recipe's last step, or until a stop is requested. In that case the step under
/// way is finished if it has all its batches, and otherwise given up before anything of it is
/// applied.
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
        // The first step allocates the optimizer's moments, so only there can memory run out
        // after weights have changed: wait for it before the step counts. Later steps reuse that
        // memory, and one that runs out has not changed anything yet.
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

/// Waits until the device has computed everything, and reports what failed.
fn settled<T: Trainee>(trainee: &T, step: u64, facts: &Facts) -> Result<(), TrainError> {
    let synced = trainee.device().inner().sync();
    let computed = synced.map_err(|why| why.to_string());
    let computed = computed.and_then(|()| no_memory_fault());
    computed.map_err(|why| TrainError::step(step, why).in_batch(step, facts))
}

/// Adds the step and its batches to an error, and reports the error to the observer.
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

/// Whether any replica asks to stop, so that all of them stop after the same step.
fn agreed(stop: bool, seat: &Seat) -> Result<bool, TrainError> {
    let votes = seat.mean(vec![if stop { 1.0 } else { 0.0 }])?;
    Ok(votes.iter().any(|votes| *votes > 0.0))
}
