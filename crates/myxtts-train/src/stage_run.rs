//! One stage on its devices: the pipeline, and a thread for every replica.

use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use burn::tensor::Device;
use myxtts_data::stage::ClipSource;
use myxtts_pipeline::{
    Bounds, Failure, Knobs, Lane, Ledger, Make, Outcome, Pipeline, SiteWork, Start,
};

use crate::error::TrainError;
use crate::feed::{Fed, Filled, HostFeed, Largest};
use crate::looping::{Recipe, State, Watch, train};
use crate::placement::{Carry, Placement, Portable};
use crate::team::{Averaging, InProcess, Seat, TeamError};
use crate::trainee::Trainee;

/// How batches flow.
#[derive(Clone, Copy, Debug)]
pub struct Flow {
    /// Where workers, read-ahead and depth start.
    pub knobs: Knobs,
    /// How far smart prefetch may go.
    pub bounds: Bounds,
    /// Bytes each ring may hold, where there is a budget.
    pub ring_bytes: Option<u64>,
    /// Batches the start waits for.
    pub fill_target: usize,
    /// At most so long.
    pub start_delay: Duration,
}

/// Makes the device stage of a device.
pub type MakeSite<S> = Arc<dyn Fn(&Device) -> Result<S, String> + Send + Sync>;

/// Everything a stage runs on.
pub struct StageRun<'a, C, S, M> {
    /// Devices.
    pub placement: &'a Placement,
    /// Buffers.
    pub flow: Flow,
    /// Largest batch.
    pub largest: Largest,
    /// The host stage.
    pub host: HostFeed<C>,
    /// Makes the device stage on a device, on its thread.
    pub site: MakeSite<S>,
    /// Makes the state on a device; all replicas' must be equal.
    pub state: M,
    /// What the loop is told.
    pub recipe: &'a Recipe,
    /// Where waits are noted.
    pub ledger: Ledger,
}

/// Told what happens around the loop.
pub trait StageWatch<T>: Watch<T> {
    /// The model starts.
    fn started(&mut self, start: &Start);
    /// The running pipeline, between steps of the first replica.
    fn pipeline(&mut self, pipeline: Weak<Pipeline>);
}

/// Runs a stage from its state's step to the end of the recipe.
pub fn run_stage<T, S, C, M>(
    run: StageRun<'_, C, S, M>,
    watch: &mut dyn StageWatch<T>,
) -> Result<(State<T>, Outcome), TrainError>
where
    T: Trainee,
    T::Batch: Portable,
    S: SiteWork<Buffer = Filled, Batch = Fed<T::Batch>> + 'static,
    C: ClipSource + Send + Sync + 'static,
    M: Fn(&Device) -> Result<State<T>, TrainError> + Sync,
{
    let StageRun {
        placement,
        flow,
        largest,
        host,
        site,
        state,
        recipe,
        ledger,
    } = run;
    let first = state(&placement.models[0])?;
    let accumulation = recipe.accumulation.max(1) as u64;
    let steps = first.done * accumulation..recipe.steps * accumulation;
    let setup = largest.setup(
        placement.wiring(),
        steps,
        flow.knobs,
        flow.bounds,
        flow.ring_bytes,
    );
    let made = Made::new();
    let sites = placement.data.iter().map(|device| {
        let (site, device) = (Arc::clone(&site), device.clone());
        let making = made.making.clone();
        let make: Make<S> = Box::new(move || {
            let _making = making;
            site(&device)
        });
        make
    });
    let hops = placement.models.iter().filter(|_| placement.has_hop);
    let hops = hops.map(|device| {
        let device = device.clone();
        let make: Make<Carry<T::Batch>> = Box::new(move || Ok(Carry::to(device)));
        make
    });
    let (pipeline, lanes) = Pipeline::start(&setup, host, sites.collect(), hops.collect(), ledger)?;
    let pipeline = Rc::new(pipeline);
    watch.pipeline(Rc::downgrade(&pipeline));
    let supply = Supply { lanes, flow, made };
    let result = replicas(first, supply, placement, recipe, &state, watch);
    let stop = pipeline.stop().clone();
    if result.is_err() {
        stop.fail(Failure::Requested);
    }
    let Some(pipeline) = Rc::into_inner(pipeline) else {
        return Err(TrainError::failed("the pipeline is still in use"));
    };
    let outcome = pipeline.finish();
    // What broke the data side is the reason; a lane only sees that it ended.
    match (result, &outcome.failure) {
        (Ok(state), None | Some(Failure::Requested)) => Ok((state, outcome)),
        (Err(TrainError::Pipeline(Failure::Requested)), Some(failure)) | (Ok(_), Some(failure)) => {
            Err(failure.clone().into())
        }
        (Err(error), _) => Err(error),
    }
}

/// What replicas train on, and when they start.
struct Supply<B> {
    lanes: Vec<Lane<Fed<B>>>,
    flow: Flow,
    made: Made,
}

/// Whether every site and replica is made: a channel on which nothing is sent,
/// and which ends when all that are still being made have let go of it.
struct Made {
    making: Sender<()>,
    made: Receiver<()>,
}

impl Made {
    fn new() -> Self {
        let (making, made) = channel();
        Self { making, made }
    }

    /// Kernels may take minutes to compile; the start delay is for data.
    fn wait(self) {
        drop(self.making);
        let _ = self.made.recv();
    }
}

/// The first replica on this thread, the others on threads of their own.
fn replicas<T, M>(
    first: State<T>,
    supply: Supply<T::Batch>,
    placement: &Placement,
    recipe: &Recipe,
    state: &M,
    watch: &mut dyn StageWatch<T>,
) -> Result<State<T>, TrainError>
where
    T: Trainee,
    T::Batch: Portable,
    M: Fn(&Device) -> Result<State<T>, TrainError> + Sync,
{
    let Supply { lanes, flow, made } = supply;
    let team: Arc<dyn Averaging> = Arc::new(InProcess::new(lanes.len()));
    let mut lanes = lanes.into_iter();
    let Some(mut lane) = lanes.next() else {
        return Err(TrainError::failed("a stage needs a model device"));
    };
    std::thread::scope(|scope| {
        let others: Vec<_> = lanes
            .zip(placement.models.iter().skip(1))
            .enumerate()
            .map(|(index, (lane, device))| {
                let seat = Seat {
                    rank: index + 1,
                    team: Arc::clone(&team),
                    collective: placement.collective(),
                };
                let making = made.making.clone();
                scope.spawn(move || {
                    let _guard = LeavesOnPanic(Arc::clone(&seat.team));
                    let own = state(device);
                    drop(making);
                    let trained = own.and_then(|own| {
                        seat.check_collective(device)?;
                        train(own, lane, recipe, &seat, &mut Silent)
                    });
                    if trained.is_err() {
                        seat.team.abandon();
                    }
                    trained.map(|_| ())
                })
            })
            .collect();
        let seat = Seat {
            rank: 0,
            team: Arc::clone(&team),
            collective: placement.collective(),
        };
        let _guard = LeavesOnPanic(Arc::clone(&team));
        made.wait();
        let checked = seat.check_collective(&placement.models[0]);
        let trained = checked.map_err(TrainError::from).and_then(|()| {
            let start = lane.wait_for_start(flow.fill_target, flow.start_delay)?;
            watch.started(&start);
            let watch: &mut dyn Watch<T> = watch;
            train(first, lane, recipe, &seat, watch)
        });
        if trained.is_err() {
            team.abandon();
        }
        let others = others.into_iter().map(|thread| match thread.join() {
            Ok(result) => result,
            Err(_) => Err(TrainError::failed(
                "a replica panicked; this is a defect of the program",
            )),
        });
        // A replica that was left alone is not the one that failed.
        let is_left_alone =
            |error: &TrainError| matches!(error, TrainError::Team(TeamError::Abandoned(_)));
        let failures: Vec<TrainError> = others.filter_map(Result::err).collect();
        match (trained, failures.into_iter().min_by_key(is_left_alone)) {
            (Err(own), _) if !is_left_alone(&own) => Err(own),
            (_, Some(error)) => Err(error),
            (trained, None) => trained,
        }
    })
}

/// A replica that panics lets the others go, who would wait for it forever.
struct LeavesOnPanic(Arc<dyn Averaging>);

impl Drop for LeavesOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.abandon();
        }
    }
}

/// Replicas beside the first keep no books.
struct Silent;

impl<T> Watch<T> for Silent {
    fn after(&mut self, _: &crate::looping::StepDone, _: &State<T>) -> Result<bool, TrainError> {
        Ok(false)
    }

    fn wants_to_stop(&self) -> bool {
        false
    }
}
