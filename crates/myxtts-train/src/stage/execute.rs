//! One stage on its devices: the pipeline, and a thread for every replica.

use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

use burn::tensor::Device;
use myxtts_data::host_stage::{ClipSource, HostFeed, PreparedBatch};
use myxtts_pipeline::{
    Bounds, DeviceStage, Failure, Knobs, Lane, Ledger, Make, Outcome, Pipeline, Setup, Start,
    Started, Stop,
};
use myxtts_run::signals::{LOOK_EVERY, StopRequest};

use crate::error::{TrainError, unless_stopped};
use crate::feed::{DeviceBatch, LargestBatch, RingBytes, Targets};
use crate::objective::Objective;
use crate::placement::{DeviceHop, Placement, ToDevice};
use crate::train_loop::{
    AllReduce, LoopConfig, Replica, ReplicaError, ReplicaInput, State, StepObserver, ThreadGroup,
    train,
};

/// How far ahead of the model batches are made.
#[derive(Clone, Copy, Debug)]
pub struct PrefetchConfig {
    /// Workers, batches in flight and ring depth to start with.
    pub knobs: Knobs,
    /// The limits of smart prefetch.
    pub bounds: Bounds,
    /// The most bytes that the rings may hold.
    pub ring_bytes: RingBytes,
    /// Batches that the start waits for; fewer where the ring holds fewer.
    pub fill_target: usize,
    /// The longest wait for those batches.
    pub start_delay: Duration,
}

impl PrefetchConfig {
    /// Returns the same with rings for `all` batches, `each` on a model device, and a start that
    /// waits for all of them, at most for `longest`.
    pub(crate) fn holding(self, all: usize, each: usize, longest: Duration) -> Self {
        let knobs = Knobs {
            in_flight: all.max(self.knobs.in_flight),
            ring_depth: each,
            ..self.knobs
        };
        Self {
            knobs,
            bounds: Bounds {
                least: knobs,
                most: knobs,
            },
            ring_bytes: RingBytes::default(),
            fill_target: each,
            start_delay: longest,
        }
    }
}

/// Makes the device stage on a given device.
pub type MakeDeviceStage<S> = Arc<dyn Fn(&Device) -> Result<S, String> + Send + Sync>;

/// Everything a stage runs on.
pub struct StageRun<'a, C, S, M> {
    /// The devices to run on.
    pub placement: &'a Placement,
    /// How far ahead batches are made.
    pub prefetch: PrefetchConfig,
    /// The size of the largest batch, for the bounds of the rings.
    pub largest: LargestBatch,
    /// Fills batches on the host.
    pub host: HostFeed<C>,
    /// Makes the device stage, on the thread that will run it.
    pub device_stage: MakeDeviceStage<S>,
    /// Makes the state on a device; it must be equal on all replicas.
    pub state: M,
    /// The settings of the loop.
    pub loop_config: &'a LoopConfig,
    /// How many targets each batch has.
    pub targets: Targets,
    /// The record of every wait.
    pub ledger: Ledger,
    /// A stop request; every wait looks at it.
    pub stop: StopRequest,
}

/// Observes what happens around the loop.
pub trait StageObserver<T>: StepObserver<T> {
    /// Called when the model starts, with the time `made` that its devices took to be ready.
    /// Returning `true` ends the stage before its first step.
    fn started(
        &mut self,
        made: Duration,
        start: &Start,
        state: &State<T>,
    ) -> Result<bool, TrainError>;
    /// Hands over the running pipeline, between steps of the first replica.
    fn pipeline(&mut self, pipeline: Weak<Pipeline>);
}

/// Runs a stage from its state's step to its last step.
pub fn run_stage<T, S, C, M>(
    run: StageRun<'_, C, S, M>,
    observer: &mut dyn StageObserver<T>,
) -> Result<(State<T>, Outcome), TrainError>
where
    T: Objective,
    T::Batch: ToDevice,
    S: DeviceStage<Buffer = PreparedBatch, Batch = DeviceBatch<T::Batch>> + 'static,
    C: ClipSource + Send + Sync + 'static,
    M: Fn(&Device) -> Result<State<T>, TrainError> + Sync,
{
    let StageRun {
        placement,
        prefetch,
        largest,
        host,
        device_stage,
        state,
        loop_config,
        targets,
        ledger,
        stop,
    } = run;
    let begin = Instant::now();
    let first = state(&placement.models[0])?;
    let accumulation = loop_config.accumulation.max(1) as u64;
    let steps = first.done * accumulation..loop_config.steps * accumulation;
    let setup = largest.setup(
        placement.wiring(),
        steps,
        prefetch.knobs,
        prefetch.bounds,
        prefetch.ring_bytes,
    );
    let made = ReadyGate::new(begin);
    let fill_target = prefetch.fill_target.min(setup.model_ring.holds());
    let (pipeline, lanes) =
        start_pipeline(&setup, host, &device_stage, placement, &made.making, ledger)?;
    let pipeline = Rc::new(pipeline);
    observer.pipeline(Rc::downgrade(&pipeline));
    let inputs = ReplicaInputs {
        lanes,
        targets,
        start: StartConditions {
            made,
            fill_target,
            start_delay: prefetch.start_delay,
        },
        stop: stop.clone(),
    };
    let result = until_asked(&stop, pipeline.stop(), || {
        replicas(first, inputs, placement, loop_config, &state, observer)
    });
    if result.is_err() {
        pipeline.stop().fail(Failure::Requested);
    }
    let outcome = end_pipeline(pipeline, &stop)?;
    stage_result(result, outcome)
}

/// Starts the pipeline: a device stage on every data device and, where batches change devices, a
/// hop to every model device.
fn start_pipeline<B, S, C>(
    setup: &Setup,
    host: HostFeed<C>,
    device_stage: &MakeDeviceStage<S>,
    placement: &Placement,
    making: &Sender<()>,
    ledger: Ledger,
) -> Result<Started<DeviceBatch<B>>, TrainError>
where
    B: ToDevice,
    S: DeviceStage<Buffer = PreparedBatch, Batch = DeviceBatch<B>> + 'static,
    C: ClipSource + Send + Sync + 'static,
{
    let device_stages = placement.data.iter();
    let device_stages = device_stages.map(|device| make_site(device_stage, device, making.clone()));
    let hops = placement.models.iter().filter(|_| placement.has_hop);
    let hops = hops.map(make_hop::<B>);
    let started = Pipeline::start(setup, host, device_stages.collect(), hops.collect(), ledger)?;
    Ok(started)
}

/// Ends the data side; if a stop was requested, it is not waited for long.
fn end_pipeline(pipeline: Rc<Pipeline>, stop: &StopRequest) -> Result<Outcome, TrainError> {
    let Some(pipeline) = Rc::into_inner(pipeline) else {
        return Err(TrainError::failed("the pipeline is still in use"));
    };
    Ok(match stop.is_asked() {
        true => pipeline.leave(PATIENCE),
        false => pipeline.finish(),
    })
}

/// Returns the last state and what the data side did, or the failure that ended the stage.
fn stage_result<T>(
    result: Result<State<T>, TrainError>,
    outcome: Outcome,
) -> Result<(State<T>, Outcome), TrainError> {
    // The failure of the data side is the reason; a lane only sees that it ended.
    match (result, &outcome.failure) {
        (Ok(state), None | Some(Failure::Requested)) => Ok((state, outcome)),
        (Err(TrainError::Pipeline(Failure::Requested)), Some(failure)) | (Ok(_), Some(failure)) => {
            Err(failure.clone().into())
        }
        (Err(error), _) => Err(error),
    }
}

/// Makes a device stage on the thread that will use it; `making` is let go of
/// once it is made.
fn make_site<S: 'static>(
    device_stage: &MakeDeviceStage<S>,
    device: &Device,
    making: Sender<()>,
) -> Make<S> {
    let (device_stage, device) = (Arc::clone(device_stage), device.clone());
    Box::new(move || {
        let _making = making;
        device_stage(&device)
    })
}

fn make_hop<B: ToDevice>(device: &Device) -> Make<DeviceHop<B>> {
    let device = device.clone();
    Box::new(move || Ok(DeviceHop::to(device)))
}

/// How long a stop waits for the data side to finish what it is doing.
const PATIENCE: Duration = Duration::from_millis(300);

/// Does `work`. If a stop is requested meanwhile, the pipeline is closed, so that nobody waits
/// for a batch any longer.
fn until_asked<R>(stop: &StopRequest, pipeline: &Stop, work: impl FnOnce() -> R) -> R {
    // Nothing is sent: the end of the work ends the channel.
    let (working, is_over) = channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            while is_over.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
                if stop.is_asked() {
                    return pipeline.fail(Failure::Requested);
                }
            }
        });
        let _working = working;
        work()
    })
}

/// What replicas train on, and when they start.
struct ReplicaInputs<B> {
    lanes: Vec<Lane<DeviceBatch<B>>>,
    targets: Targets,
    start: StartConditions,
    stop: StopRequest,
}

/// What the first replica waits for before its first step.
struct StartConditions {
    made: ReadyGate,
    fill_target: usize,
    start_delay: Duration,
}

/// Tells when every device stage and replica has been made: a channel on which nothing is sent,
/// and which ends when all that are still being made have dropped their end of it.
struct ReadyGate {
    begin: Instant,
    making: Sender<()>,
    made: Receiver<()>,
}

impl ReadyGate {
    fn new(begin: Instant) -> Self {
        let (making, made) = channel();
        Self {
            begin,
            making,
            made,
        }
    }

    /// Waits for all of them and returns how long they took. Kernels may take minutes to compile;
    /// the start delay is for data only.
    fn wait(self, stop: &StopRequest) -> Result<Duration, TrainError> {
        drop(self.making);
        while self.made.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
            unless_stopped(stop)?;
        }
        Ok(self.begin.elapsed())
    }
}

/// Runs the first replica on this thread and the others on threads of their own.
fn replicas<T, M>(
    first: State<T>,
    inputs: ReplicaInputs<T::Batch>,
    placement: &Placement,
    loop_config: &LoopConfig,
    state: &M,
    observer: &mut dyn StageObserver<T>,
) -> Result<State<T>, TrainError>
where
    T: Objective,
    T::Batch: ToDevice,
    M: Fn(&Device) -> Result<State<T>, TrainError> + Sync,
{
    let ReplicaInputs {
        lanes,
        targets,
        start,
        stop,
    } = inputs;
    let group: Arc<dyn AllReduce> = Arc::new(ThreadGroup::new(lanes.len()));
    let mut lanes = lanes.into_iter();
    let Some(lane) = lanes.next() else {
        return Err(TrainError::failed("a stage needs a model device"));
    };
    std::thread::scope(|scope| {
        let others: Vec<_> = lanes
            .zip(placement.models.iter().skip(1))
            .enumerate()
            .map(|(index, (lane, device))| {
                let member = Member::new(index + 1, device, &group, placement);
                let making = start.made.making.clone();
                let input = ReplicaInput {
                    lane,
                    rank: member.replica.rank,
                    targets: targets.clone(),
                    // Only the first replica decides to stop, and the others follow.
                    stop: StopRequest::new(),
                };
                scope.spawn(move || follow::<T, M>(&member, input, making, loop_config, state))
            })
            .collect();
        let leader = Member::new(0, &placement.models[0], &group, placement);
        let input = ReplicaInput {
            lane,
            rank: leader.replica.rank,
            targets,
            stop: stop.clone(),
        };
        let trained = lead(&leader, first, input, start, loop_config, observer);
        // Nobody may wait for this replica any longer: it has failed, was asked to stop, or all
        // have taken their last step.
        group.leave();
        first_to_fail(trained, others.into_iter().map(joined), &stop)
    })
}

/// A replica, and the device that it trains on.
struct Member<'a> {
    replica: Replica,
    device: &'a Device,
}

impl<'a> Member<'a> {
    fn new(
        rank: usize,
        device: &'a Device,
        group: &Arc<dyn AllReduce>,
        placement: &Placement,
    ) -> Self {
        Self {
            replica: Replica::new(rank, Arc::clone(group), placement.collective()),
            device,
        }
    }
}

/// Trains the first replica on this thread, once everything is ready.
fn lead<T: Objective>(
    leader: &Member<'_>,
    first: State<T>,
    mut input: ReplicaInput<T::Batch>,
    start: StartConditions,
    loop_config: &LoopConfig,
    observer: &mut dyn StageObserver<T>,
) -> Result<State<T>, TrainError> {
    let (replica, device) = (&leader.replica, leader.device);
    let StartConditions {
        made,
        fill_target,
        start_delay,
    } = start;
    let _guard = LeavesOnPanic(Arc::clone(&replica.group));
    let started = made.wait(&input.stop).and_then(|made| {
        replica.check_collective(device)?;
        let start = input.lane.wait_for_start(fill_target, start_delay)?;
        observer.started(made, &start, &first)
    });
    match started {
        Ok(true) => Ok(first),
        Ok(false) => train(first, input, loop_config, replica, observer),
        Err(error) if error.is_let_go(&input.stop) => Ok(first),
        Err(error) => Err(error),
    }
}

/// Trains a replica beside the first, on its own thread.
fn follow<T, M>(
    member: &Member<'_>,
    input: ReplicaInput<T::Batch>,
    making: Sender<()>,
    loop_config: &LoopConfig,
    state: &M,
) -> Result<(), TrainError>
where
    T: Objective,
    M: Fn(&Device) -> Result<State<T>, TrainError>,
{
    let (replica, device) = (&member.replica, member.device);
    let _guard = LeavesOnPanic(Arc::clone(&replica.group));
    let own = state(device);
    drop(making);
    let trained = own.and_then(|own| {
        replica.check_collective(device)?;
        train(own, input, loop_config, replica, &mut Silent)
    });
    if trained.is_err() {
        replica.group.leave();
    }
    trained.map(|_| ())
}

/// Waits for the thread of a replica, and returns how it ended.
fn joined(thread: ScopedJoinHandle<'_, Result<(), TrainError>>) -> Result<(), TrainError> {
    match thread.join() {
        Ok(result) => result,
        Err(_) => Err(TrainError::failed(
            "a replica panicked; this is a defect of the program",
        )),
    }
}

/// What the first replica trained, or the failure that ended it. A replica that
/// was left alone is not the one that failed.
fn first_to_fail<T>(
    trained: Result<State<T>, TrainError>,
    others: impl Iterator<Item = Result<(), TrainError>>,
    stop: &StopRequest,
) -> Result<State<T>, TrainError> {
    let is_left_alone =
        |error: &TrainError| matches!(error, TrainError::Replica(ReplicaError::PeerLost(_)));
    let has_ended = trained.is_ok();
    let is_follower =
        |error: &TrainError| has_ended && (is_left_alone(error) || error.is_let_go(stop));
    let failures = others.filter_map(Result::err);
    let failures = failures.filter(|error| !is_follower(error));
    match (trained, failures.min_by_key(is_left_alone)) {
        (Err(own), _) if !is_left_alone(&own) => Err(own),
        (_, Some(error)) => Err(error),
        (trained, None) => trained,
    }
}

/// Releases the other replicas when this one panics; they would wait for it forever.
struct LeavesOnPanic(Arc<dyn AllReduce>);

impl Drop for LeavesOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.leave();
        }
    }
}

/// The observer of every replica but the first; it records nothing.
struct Silent;

impl<T> StepObserver<T> for Silent {
    fn looks_at(&self, _: u64) -> bool {
        false
    }

    fn after_step(
        &mut self,
        _: &crate::train_loop::StepReport,
        _: &State<T>,
    ) -> Result<bool, TrainError> {
        Ok(false)
    }
}
