//! The training loop, the same for every stage, mode and number of replicas.

mod dry_run;
mod ema;
mod gradient_accumulator;
mod lag;
mod loss_scale;
mod meter;
mod reading;
mod replicas;
mod state;
mod step_batches;
mod step_metrics;

use myxtts_device::{EngineError, check_for_oom};
use myxtts_model::init::mix;
use myxtts_pipeline::Lane;
use myxtts_run::lr::LrSchedule;
use myxtts_run::signals::StopRequest;
use myxtts_run::units::Step;

pub(crate) use dry_run::dry_run_steps;
pub use ema::Ema;
pub use loss_scale::{LossFactor, LossScale};
pub(crate) use meter::Meter;
pub use meter::{ReplicaTotals, Waits};
pub(crate) use replicas::{AllReduce, ThreadGroup};
pub use replicas::{PeerLost, Replica, ReplicaError};
pub use state::{Guards, State};
pub use step_metrics::StepReport;

use crate::error::TrainError;
use crate::faults::StepFaults;
use crate::feed::{BatchStats, DeviceBatch, Targets};
use crate::objective::Objective;
use gradient_accumulator::GradientAccumulator;
use lag::{Decision, Lag};
use step_batches::StepBatches;
use step_metrics::{ComputedPhase, StepMetrics};

/// The settings of the loop.
#[derive(Clone, Debug)]
pub struct LoopConfig {
    /// Steps of the stage, counted from its beginning.
    pub steps: u64,
    /// Batches of a step, on each replica.
    pub accumulation: usize,
    /// Learning rate by step of the stage.
    pub lr_schedule: LrSchedule,
    /// The largest norm of a gradient; a longer one is shortened to it.
    pub gradient_clip: f64,
    /// Seed of everything that is drawn at random in a step.
    pub seed: u64,
    /// Steps between two comparisons of the replicas' weights; 0 for never.
    pub compare_every: u64,
    /// Whether a GPU that trains alone may take a step before the host has read the last one. Not
    /// where steps are left out for a loss that jumps: only the host can tell.
    pub reads_late: bool,
    /// Faults to inject, in a test.
    #[doc(hidden)]
    pub faults: StepFaults,
}

/// Observes every step; for the first replica it records the run.
pub trait StepObserver<T> {
    /// Whether [`after_step`](Self::after_step) looks at the state of this step. If it does not,
    /// the step may be reported while the next one is computed, whose state it then is.
    fn looks_at(&self, _step: u64) -> bool {
        true
    }
    /// Called after a step. Returning `true` asks all replicas to stop.
    fn after_step(&mut self, report: &StepReport, state: &State<T>) -> Result<bool, TrainError>;
    /// Called when a step fails, or what follows one; `_state` is that of the last step taken.
    fn failed(&mut self, _error: &TrainError, _state: &State<T>) {}
}

/// Where a replica's batches come from, and when to stop taking them.
#[derive(Debug)]
pub struct ReplicaInput<B> {
    /// The batches made for this replica.
    pub lane: Lane<DeviceBatch<B>>,
    /// The replica's place among the model devices.
    pub rank: usize,
    /// How many targets each batch has.
    pub targets: Targets,
    /// Tells whether a stop was requested.
    pub stop: StopRequest,
}

/// Trains until the last step of its configuration, or until a stop is requested. In that case the step under
/// way is finished if it has all its batches, and otherwise given up before anything of it is
/// applied.
pub fn train<T: Objective>(
    mut state: State<T>,
    mut input: ReplicaInput<T::Batch>,
    loop_config: &LoopConfig,
    replica: &Replica,
    observer: &mut dyn StepObserver<T>,
) -> Result<State<T>, TrainError> {
    let (begun, mut is_enough, stop) = (state.done, false, input.stop.clone());
    let mut lag = Lag::new(&state, loop_config, replica);
    while state.done < loop_config.steps {
        if any_replica_stops(is_enough, &stop, replica)? {
            break;
        }
        let key = mix(loop_config.seed ^ mix(state.done));
        let rate = loop_config.lr_schedule.lr(Step(state.done));
        let (phases, is_new_kind) = state.begin_step();
        let mut metrics = StepMetrics::new(state.done + 1, rate, is_new_kind, &replica.meter);
        let mut batches = StepBatches::new(&mut input, loop_config.accumulation, state.done);
        let (mut traces, mut decision) = (vec![], Decision::Apply);
        loop_config.faults.delay(replica.rank);
        for &phase in &phases {
            let scale = lag.scale(&state);
            let mut accumulator =
                GradientAccumulator::new(&state.objective, replica, phase, key, scale);
            let computed = match batches.accumulate(&mut accumulator, &mut metrics, &mut traces) {
                Ok(true) => accumulator.finish(loop_config.gradient_clip),
                Ok(false) => return lag.finish(state, observer),
                Err(error) => Err(error),
            };
            let is_first = phases.first() == Some(&phase);
            if is_first && computed.as_ref().is_err_and(|error| error.is_let_go(&stop)) {
                return lag.finish(state, observer);
            }
            let computed = lag.report_failure(computed, &mut metrics, &mut state, observer);
            let (gradients, norm) = computed?;
            let rate = rate * state.objective.lr_scale(phase);
            let is_last = phases.last() == Some(&phase);
            let computed = ComputedPhase {
                phase,
                norm,
                rate,
                is_last,
            };
            let decided = lag.decide(computed, &mut metrics, &mut state);
            decision = lag.report_failure(decided, &mut metrics, &mut state, observer)?;
            if matches!(decision, Decision::Skip) {
                break;
            }
            state = state.apply(phase, gradients, rate, &decision);
        }
        state = state.update_buffers(&traces, key, decision);
        lag.settle(&mut metrics, &mut state, observer)?;
        if metrics.is_settled() && metrics.report.skipped.is_none() {
            state = state.average_buffers(replica)?;
            state.update_ema(&replica.meter)?;
        }
        drop((traces, batches));
        if state.done == begun {
            wait_for_first_step(&state.objective, &metrics, &replica.meter)?;
        }
        state.read_back(loop_config.faults.reads, &replica.meter)?;
        state.done += 1;
        state.check_replicas_agree(loop_config, replica)?;
        is_enough = lag.report(metrics, &mut state, observer)?;
    }
    lag.finish(state, observer)
}

/// Waits for the first step before it counts. It allocates the optimizer's moments, so only there
/// can memory run out after weights have changed. Later steps reuse that memory, and one that runs
/// out has not changed anything yet.
fn wait_for_first_step<T: Objective>(
    objective: &T,
    metrics: &StepMetrics,
    meter: &Meter,
) -> Result<(), TrainError> {
    let StepReport { step, stats, .. } = &metrics.report;
    meter.reading_back(|| synchronize(objective, *step, stats))
}

/// Waits until the device has computed everything, and reports what failed.
fn synchronize<T: Objective>(
    objective: &T,
    step: u64,
    stats: &BatchStats,
) -> Result<(), TrainError> {
    let synced = objective.device().inner().sync();
    let computed = synced.map_err(EngineError::new);
    let computed = computed.and_then(|()| check_for_oom());
    computed.map_err(|why| TrainError::step(step, why).in_batch(step, stats))
}

/// Whether any replica asks to stop, so that all of them stop after the same step. One that left
/// because of the stop has asked, too.
fn any_replica_stops(
    is_enough: bool,
    stop: &StopRequest,
    replica: &Replica,
) -> Result<bool, TrainError> {
    let vote = if is_enough || stop.is_asked() {
        1.0
    } else {
        0.0
    };
    match replica.mean(vec![vote]).map_err(TrainError::from) {
        Ok(votes) => Ok(votes.iter().any(|votes| *votes > 0.0)),
        Err(error) if error.is_let_go(stop) => Ok(true),
        Err(error) => Err(error),
    }
}
