//! A stage of training with a small GPT, on devices of one's choice.

use std::rc::Weak;
use std::sync::Arc;
use std::time::Duration;

use burn::tensor::Device;
use myxtts_data::host_stage::{Clip, ClipSource, HostFeed, PreparedBatch};
use myxtts_data::schedule::{Beginnings, BucketShape, Schedule};
use myxtts_data::units::{Codes, Tokens};
use myxtts_model::conditioning::PerceiverConfig;
use myxtts_model::gpt::{Gpt, GptConfig, Quirks, Vocabulary};
use myxtts_model::init::Init;
use myxtts_model::params::StateDict;
use myxtts_pipeline::{Bounds, DeviceStage, Knobs, Ledger, Outcome, Pipeline, Start};
use myxtts_run::guard::{SpikeAction, SpikeSettings};
use myxtts_run::lr::{LrSchedule, Parts, Shape};
use myxtts_run::signals::{StopRequest, StopSignal};
use myxtts_run::units::Step;
use myxtts_train::TrainError;
use myxtts_train::feed::{DeviceBatch, DeviceFeed, FrontEnd, LargestBatch, RingBytes, Targets};
use myxtts_train::objective::{GptObjective, GptObjectiveConfig, Objective};
use myxtts_train::optim::{AdamW, AdamWConfig};
use myxtts_train::placement::{Placement, ToDevice};
use myxtts_train::stage::execute::{PrefetchConfig, StageObserver, StageRun, run_stage};
use myxtts_train::train_loop::{Guards, LoopConfig, LossScale, State, StepObserver, StepReport};

use crate::world::{CONDITIONING, SMALL, WORLD, device, stage};

/// Clips of the stage: whole steps for every division tried.
pub(crate) const CLIPS: usize = 16;

/// One bucket, so that a step of one division is a step of another.
pub(crate) fn schedule(batch_size: u32, replicas: u32) -> Arc<Schedule> {
    let lengths = &WORLD.lengths[..CLIPS];
    let shape = BucketShape {
        text: Tokens(lengths.iter().map(|length| length.text.0).max().unwrap()),
        audio: Codes(lengths.iter().map(|length| length.audio.0).max().unwrap()),
    };
    let schedule = Schedule::new(lengths, &[shape], batch_size, replicas, 5).unwrap();
    let steps = CLIPS as u64 / u64::from(batch_size * replicas);
    assert_eq!(schedule.steps_per_epoch(), steps, "rows were taken away");
    Arc::new(schedule)
}

pub(crate) fn one() -> Placement {
    Placement::on(&Device::flex())
}

pub(crate) fn split() -> Placement {
    Placement {
        has_hop: true,
        ..one()
    }
}

pub(crate) fn mirrored() -> Placement {
    Placement {
        data: vec![Device::flex(); 2],
        models: vec![Device::flex(); 2],
        shared_data_device: false,
        ..one()
    }
}

pub(crate) fn clips() -> Arc<[Clip]> {
    WORLD.clips[..CLIPS].into()
}

pub(crate) fn knobs(workers: usize, lanes: usize) -> Knobs {
    Knobs {
        workers,
        in_flight: 4 * lanes,
        ring_depth: 2,
    }
}

pub(crate) fn prefetch(lanes: usize) -> PrefetchConfig {
    let knobs = knobs(2, lanes);
    PrefetchConfig {
        knobs,
        bounds: Bounds {
            least: knobs,
            most: knobs,
        },
        ring_bytes: RingBytes::default(),
        fill_target: 1,
        start_delay: Duration::from_secs(10),
    }
}

/// A rate so high and an epsilon so large that a step subtracts the gradient
/// itself, or a tenth of it: differences between gradients are differences
/// between weights.
const PLAIN_DESCENT: f64 = 1e4;

pub(crate) fn loop_config(steps: u64, accumulation: usize) -> LoopConfig {
    let parts = Parts {
        base: PLAIN_DESCENT / 10.0,
        warmup: Step(0),
        shape: Shape::Constant,
    };
    LoopConfig {
        steps,
        accumulation,
        lr_schedule: LrSchedule::new(parts).unwrap(),
        gradient_clip: 1e9,
        seed: 7,
        compare_every: 1,
        reads_late: true,
        faults: Default::default(),
    }
}

pub(crate) fn state<T: Objective>(objective: T) -> State<T> {
    let adamw = AdamWConfig {
        epsilon: PLAIN_DESCENT,
        weight_decay: 0.0,
        ..AdamWConfig::default()
    };
    let guards = Guards {
        bad_steps: 0,
        spikes: SpikeSettings {
            window: 100,
            threshold: 6.0,
            action: SpikeAction::Log,
        },
        scale: LossScale::off(),
    };
    State::new(objective, vec![AdamW::new(adamw)], None, guards)
}

pub(crate) fn gpt(device: &Device, seed: u64, dropout: f64) -> GptObjective {
    let text = &WORLD.vocabulary;
    let config = GptConfig {
        layers: 2,
        channels: 64,
        heads: 4,
        vocabulary: Vocabulary {
            text_tokens: text.text_tokens(),
            start_text: text.start(),
            stop_text: text.stop(),
            codes: SMALL.codes as u32,
            ..Vocabulary::XTTS_V2
        },
        mel_bands: 80,
        encoder_blocks: 1,
        perceiver: PerceiverConfig {
            latents: 4,
            depth: 1,
            heads: 2,
            head_channels: 16,
        },
        dropout,
        embedding_std: 0.02,
    };
    let objective_config = GptObjectiveConfig {
        dropout,
        quirks: Quirks::Fixed,
        ..GptObjectiveConfig::default()
    };
    let init = Init::new(seed, &device.clone().autodiff());
    GptObjective::new(Gpt::new(&init, &config), objective_config)
}

/// All steps of a stage, and what stopped it.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) steps: Vec<StepReport>,
    /// The step before a failure, as the loop tells it for a checkpoint.
    pub(crate) rescued: Option<u64>,
    /// Steps after which somebody asks to stop.
    pub(crate) stop_after: Option<usize>,
    /// Whom they ask.
    pub(crate) stop: StopRequest,
}

impl<T> StepObserver<T> for Seen {
    fn after_step(&mut self, report: &StepReport, _: &State<T>) -> Result<bool, TrainError> {
        self.steps.push(report.clone());
        if self.stop_after == Some(self.steps.len()) {
            self.stop.ask(StopSignal::Interrupt);
        }
        Ok(false)
    }

    fn failed(&mut self, _: &TrainError, state: &State<T>) {
        self.rescued = Some(state.done);
    }
}

impl<T> StageObserver<T> for Seen {
    fn started(&mut self, _: Duration, _: &Start, _: &State<T>) -> Result<bool, TrainError> {
        Ok(false)
    }

    fn pipeline(&mut self, _: Weak<Pipeline>) {}
}

impl Seen {
    pub(crate) fn losses(&self) -> Vec<f32> {
        self.steps.iter().map(|done| done.loss).collect()
    }

    /// The clips of every step, sorted.
    pub(crate) fn clips(&self) -> Vec<Vec<u32>> {
        let sorted = |report: &StepReport| {
            let mut clips: Vec<u32> = report.stats.clips.iter().map(|clip| clip.0).collect();
            clips.sort_unstable();
            clips
        };
        self.steps.iter().map(sorted).collect()
    }
}

type MakeDeviceStage<S> = Arc<dyn Fn(&Device) -> Result<S, String> + Send + Sync>;
pub(crate) type Ended<T> = Result<(State<T>, Outcome), TrainError>;

/// Runs a stage of any kind.
#[expect(clippy::too_many_arguments, reason = "a stage is all of these")]
pub(crate) fn run<T, S, C>(
    placement: &Placement,
    host: HostFeed<C>,
    largest: LargestBatch,
    device_stage: MakeDeviceStage<S>,
    state: impl Fn(&Device) -> State<T> + Sync,
    loop_config: &LoopConfig,
    targets: Targets,
    mut seen: Seen,
) -> (Ended<T>, Seen)
where
    T: Objective,
    T::Batch: ToDevice,
    S: DeviceStage<Buffer = PreparedBatch, Batch = DeviceBatch<T::Batch>> + 'static,
    C: ClipSource + Send + Sync + 'static,
{
    if seen.stop_after == Some(0) {
        seen.stop.ask(StopSignal::Interrupt);
    }
    let run = StageRun {
        placement,
        prefetch: prefetch(placement.models.len()),
        largest,
        host,
        device_stage,
        state: |device: &Device| Ok(state(device)),
        loop_config,
        targets,
        ledger: Ledger::in_memory(),
        stop: seen.stop.clone(),
    };
    let ended = run_stage(run, &mut seen);
    (ended, seen)
}

pub(crate) fn gpt_targets(schedule: &Arc<Schedule>) -> Targets {
    Targets::of_gpt(
        schedule,
        &WORLD.corpus,
        CONDITIONING,
        None,
        Beginnings::ONE,
        5,
        Quirks::Fixed,
    )
}

pub(crate) fn gpt_device_stage() -> MakeDeviceStage<DeviceFeed> {
    Arc::new(|_: &Device| Ok(device(None, Arc::default())))
}

/// Trains the small GPT over a schedule, as long as it is let.
pub(crate) fn train_gpt_until(
    placement: &Placement,
    schedule: &Arc<Schedule>,
    loop_config: &LoopConfig,
    dropout: f64,
    seen: Seen,
) -> (Ended<GptObjective>, Seen) {
    let host = HostFeed::new(stage(clips(), CONDITIONING), schedule.clone(), None).unwrap();
    let largest = LargestBatch::of(schedule, CONDITIONING, &FrontEnd::XTTS.conditioning);
    let new = |device: &Device| state(gpt(device, 3, dropout));
    run(
        placement,
        host,
        largest,
        gpt_device_stage(),
        new,
        loop_config,
        gpt_targets(schedule),
        seen,
    )
}

/// Trains the small GPT over a schedule.
pub(crate) fn train_gpt(
    placement: &Placement,
    schedule: &Arc<Schedule>,
    loop_config: &LoopConfig,
    dropout: f64,
) -> (StateDict, Seen) {
    let (ended, seen) = train_gpt_until(placement, schedule, loop_config, dropout, Seen::default());
    let (state, outcome) = ended.unwrap();
    assert_eq!(outcome.failure, None);
    assert_eq!(seen.steps.len() as u64, loop_config.steps);
    (state.objective.state().unwrap(), seen)
}
