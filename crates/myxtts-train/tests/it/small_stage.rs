//! A stage of training with a small GPT, on devices of one's choice.

use std::rc::Weak;
use std::sync::Arc;
use std::time::Duration;

use burn::tensor::Device;
use myxtts_data::schedule::{Beginnings, BucketShape, Schedule};
use myxtts_data::stage::{Clip, ClipSource, Filled, HostFeed};
use myxtts_data::units::{Codes, Tokens};
use myxtts_model::conditioning::PerceiverConfig;
use myxtts_model::gpt::{Gpt, GptConfig, Quirks, Vocabulary};
use myxtts_model::init::Init;
use myxtts_model::params::StateDict;
use myxtts_pipeline::{Bounds, Knobs, Ledger, Outcome, Pipeline, SiteWork, Start};
use myxtts_run::guard::{SpikeAction, SpikeSettings};
use myxtts_run::schedule::{Parts, Schedule as Rates, Shape};
use myxtts_run::signals::{StopRequest, StopSignal};
use myxtts_run::units::Step;
use myxtts_train::TrainError;
use myxtts_train::feed::{DeviceFeed, Fed, FrontEnd, Largest, RingBytes, Targets};
use myxtts_train::objective::{GptRecipe, GptTrainee, Trainee};
use myxtts_train::optim::{AdamW, AdamWConfig};
use myxtts_train::placement::{Placement, Portable};
use myxtts_train::stage::execute::{Flow, StageRun, StageWatch, run_stage};
use myxtts_train::train_loop::{Guards, LossScale, Recipe, State, StepDone, Watch};

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
        shared_site: false,
        ..one()
    }
}

pub(crate) fn clips() -> Arc<[Clip]> {
    WORLD.clips[..CLIPS].into()
}

pub(crate) fn knobs(workers: usize, lanes: usize) -> Knobs {
    Knobs {
        workers,
        read_ahead: 4 * lanes,
        depth: 2,
    }
}

pub(crate) fn flow(lanes: usize) -> Flow {
    let knobs = knobs(2, lanes);
    Flow {
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

pub(crate) fn recipe(steps: u64, accumulation: usize) -> Recipe {
    let parts = Parts {
        base: PLAIN_DESCENT / 10.0,
        warmup: Step(0),
        shape: Shape::Constant,
    };
    Recipe {
        steps,
        accumulation,
        schedule: Rates::new(parts).unwrap(),
        gradient_clip: 1e9,
        seed: 7,
        compare_every: 1,
        faults: Default::default(),
    }
}

pub(crate) fn state<T: Trainee>(trainee: T) -> State<T> {
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
    State::new(trainee, vec![AdamW::new(adamw)], None, guards)
}

pub(crate) fn gpt(device: &Device, seed: u64, dropout: f64) -> GptTrainee {
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
    let recipe = GptRecipe {
        dropout,
        quirks: Quirks::Fixed,
        ..GptRecipe::default()
    };
    let init = Init::new(seed, &device.clone().autodiff());
    GptTrainee::new(Gpt::new(&init, &config), recipe)
}

/// All steps of a stage, and what stopped it.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) steps: Vec<StepDone>,
    /// The step before a failure, as the loop tells it for a checkpoint.
    pub(crate) rescued: Option<u64>,
    /// Steps after which somebody asks to stop.
    pub(crate) stop_after: Option<usize>,
    /// Whom they ask.
    pub(crate) stop: StopRequest,
}

impl<T> Watch<T> for Seen {
    fn after(&mut self, done: &StepDone, _: &State<T>) -> Result<bool, TrainError> {
        self.steps.push(done.clone());
        if self.stop_after == Some(self.steps.len()) {
            self.stop.ask(StopSignal::Interrupt);
        }
        Ok(false)
    }

    fn failed(&mut self, _: &TrainError, state: &State<T>) {
        self.rescued = Some(state.done);
    }
}

impl<T> StageWatch<T> for Seen {
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
        let sorted = |done: &StepDone| {
            let mut clips: Vec<u32> = done.facts.clips.iter().map(|clip| clip.0).collect();
            clips.sort_unstable();
            clips
        };
        self.steps.iter().map(sorted).collect()
    }
}

type Site<S> = Arc<dyn Fn(&Device) -> Result<S, String> + Send + Sync>;
pub(crate) type Ended<T> = Result<(State<T>, Outcome), TrainError>;

/// Runs a stage of any kind.
#[expect(clippy::too_many_arguments, reason = "a stage is all of these")]
pub(crate) fn run<T, S, C>(
    placement: &Placement,
    host: HostFeed<C>,
    largest: Largest,
    site: Site<S>,
    state: impl Fn(&Device) -> State<T> + Sync,
    recipe: &Recipe,
    targets: Targets,
    mut seen: Seen,
) -> (Ended<T>, Seen)
where
    T: Trainee,
    T::Batch: Portable,
    S: SiteWork<Buffer = Filled, Batch = Fed<T::Batch>> + 'static,
    C: ClipSource + Send + Sync + 'static,
{
    if seen.stop_after == Some(0) {
        seen.stop.ask(StopSignal::Interrupt);
    }
    let run = StageRun {
        placement,
        flow: flow(placement.models.len()),
        largest,
        host,
        site,
        state: |device: &Device| Ok(state(device)),
        recipe,
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

pub(crate) fn gpt_site() -> Site<DeviceFeed> {
    Arc::new(|_: &Device| Ok(device(None, Arc::default())))
}

/// Trains the small GPT over a schedule, as long as it is let.
pub(crate) fn train_gpt_until(
    placement: &Placement,
    schedule: &Arc<Schedule>,
    recipe: &Recipe,
    dropout: f64,
    seen: Seen,
) -> (Ended<GptTrainee>, Seen) {
    let host = HostFeed::new(stage(clips(), CONDITIONING), schedule.clone(), None).unwrap();
    let largest = Largest::of(schedule, CONDITIONING, &FrontEnd::XTTS.conditioning);
    let new = |device: &Device| state(gpt(device, 3, dropout));
    run(
        placement,
        host,
        largest,
        gpt_site(),
        new,
        recipe,
        gpt_targets(schedule),
        seen,
    )
}

/// Trains the small GPT over a schedule.
pub(crate) fn train_gpt(
    placement: &Placement,
    schedule: &Arc<Schedule>,
    recipe: &Recipe,
    dropout: f64,
) -> (StateDict, Seen) {
    let (ended, seen) = train_gpt_until(placement, schedule, recipe, dropout, Seen::default());
    let (state, outcome) = ended.unwrap();
    assert_eq!(outcome.failure, None);
    assert_eq!(seen.steps.len() as u64, recipe.steps);
    (state.trainee.state().unwrap(), seen)
}
