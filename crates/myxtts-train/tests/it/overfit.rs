//! A small GPT that learns three made-up clips by heart, in the real loop.

use burn::tensor::{Device, Int, Tensor, TensorData};
use myxtts_model::conditioning::PerceiverConfig;
use myxtts_model::gpt::{Gpt, GptBatch, GptConfig, Quirks, RowLengths, Vocabulary};
use myxtts_model::init::{Init, mix};
use myxtts_ops::Compute;
use myxtts_pipeline::{
    Bounds, DeviceStage, HostWork, Knobs, Ledger, Make, NoHop, Pipeline, RingBounds, Setup, Ticket,
    Wiring,
};
use myxtts_run::guard::{SpikeAction, SpikeSettings};
use myxtts_run::lr::{LrSchedule, Parts, Shape};
use myxtts_run::signals::StopRequest;
use myxtts_run::units::Step;
use myxtts_train::TrainError;
use myxtts_train::feed::{BatchStats, DeviceBatch, Targets};
use myxtts_train::objective::{GptObjective, GptObjectiveConfig, Objective};
use myxtts_train::optim::{AdamW, AdamWConfig};
use myxtts_train::train_loop::{
    Guards, LoopConfig, LossScale, Replica, ReplicaInput, State, StepObserver, StepReport, train,
};

const ROWS: usize = 3;
const TEXT: usize = 10;
const CODES: usize = 24;
const FRAMES: usize = 20;
const BANDS: usize = 8;

/// A GPT with all its parts, smaller than any that is offered.
fn config() -> GptConfig {
    GptConfig {
        layers: 2,
        channels: 64,
        heads: 4,
        vocabulary: Vocabulary {
            text_tokens: 40,
            start_text: 38,
            stop_text: 0,
            max_text_tokens: 16,
            codes: 64,
            max_audio_tokens: 40,
        },
        mel_bands: BANDS,
        encoder_blocks: 1,
        perceiver: PerceiverConfig {
            latents: 4,
            depth: 1,
            heads: 2,
            head_channels: 16,
        },
        dropout: 0.0,
        embedding_std: 0.02,
    }
}

/// Clips that follow no rule: they can only be learnt by heart.
pub fn clips(device: &Device) -> DeviceBatch<GptBatch> {
    let drawn = |count: usize, below: u64, stream: u64| -> Vec<i64> {
        let draw = |index: u64| (mix(stream ^ mix(index)) % below) as i64;
        (0..count as u64).map(draw).collect()
    };
    let ids = |length: usize, below: u64, stream: u64| {
        let ids = drawn(ROWS * length, below, stream);
        Tensor::<2, Int>::from_data(TensorData::new(ids, [ROWS, length]), device)
    };
    let lengths = |length: usize| Tensor::<1, Int>::full([ROWS], length as i64, device);
    let mel = drawn(ROWS * BANDS * FRAMES, 2001, 3).into_iter();
    let mel: Vec<f32> = mel.map(|value| value as f32 / 1000.0 - 1.0).collect();
    let row = RowLengths {
        text: TEXT,
        codes: CODES,
        prompt: None,
    };
    DeviceBatch {
        batch: GptBatch {
            text_bt: ids(TEXT, 37, 1),
            text_lengths_b: lengths(TEXT),
            codes_bm: ids(CODES, 64, 2),
            code_lengths_b: lengths(CODES),
            conditioning_bcs: Tensor::from_data(
                TensorData::new(mel, [ROWS, BANDS, FRAMES]),
                device,
            ),
            prompts_b2: None,
        },
        stats: BatchStats {
            targets: Quirks::Fixed.target_counts(&[row; ROWS]).to_vec(),
            ..BatchStats::default()
        },
    }
}

/// The model before its first step; the same whatever it computes in.
pub fn start(compute: Compute, device: &Device) -> State<GptObjective> {
    let gpt = Gpt::new(&Init::new(7, &device.clone().autodiff()), &config());
    let objective_config = GptObjectiveConfig {
        quirks: Quirks::Fixed,
        ..GptObjectiveConfig::default()
    };
    let guards = Guards {
        bad_steps: 3,
        spikes: SpikeSettings {
            window: 50,
            threshold: 6.0,
            action: SpikeAction::Log,
        },
        scale: LossScale::of(compute),
    };
    State::new(
        GptObjective::new(gpt.with_compute(compute), objective_config),
        vec![AdamW::new(AdamWConfig::default())],
        None,
        guards,
    )
}

/// Trains up to a step, and gives every step besides the state.
pub fn up_to(
    step: u64,
    state: State<GptObjective>,
    device: &Device,
) -> (State<GptObjective>, Vec<StepReport>) {
    let same = clips(device);
    let mut steps = Steps(vec![]);
    let state = train_on(move |_| same.clone(), step, state, &mut steps);
    (state.unwrap(), steps.0)
}

/// Trains up to a step in the real loop, on the batch of each step.
pub fn train_on<T: Objective>(
    batch: impl Fn(u64) -> DeviceBatch<T::Batch> + Send + 'static,
    step: u64,
    state: State<T>,
    observer: &mut dyn StepObserver<T>,
) -> Result<State<T>, TrainError> {
    train_reading(true, batch, step, state, observer)
}

/// The same, with numbers that may be read late or must not.
pub fn train_reading<T: Objective>(
    reads_late: bool,
    batch: impl Fn(u64) -> DeviceBatch<T::Batch> + Send + 'static,
    step: u64,
    state: State<T>,
    observer: &mut dyn StepObserver<T>,
) -> Result<State<T>, TrainError> {
    let knobs = Knobs {
        workers: 1,
        in_flight: 2,
        ring_depth: 1,
    };
    let ring = RingBounds {
        batches: 2,
        bytes: 100,
        largest: 1,
    };
    let setup = Setup {
        wiring: Wiring {
            lanes: 1,
            shared_data_device: true,
        },
        first_step: state.done,
        end_step: step,
        knobs,
        bounds: Bounds {
            least: knobs,
            most: knobs,
        },
        host_ring: ring,
        device_ring: ring,
        model_ring: ring,
    };
    let device_stage: Make<Batches<T::Batch>> = Box::new(move || Ok(Batches(Box::new(batch))));
    let hops: Vec<Make<NoHop<DeviceBatch<T::Batch>>>> = vec![];
    let (pipeline, mut lanes) = Pipeline::start(
        &setup,
        NoHost,
        vec![device_stage],
        hops,
        Ledger::in_memory(),
    )
    .unwrap();
    let loop_config = LoopConfig {
        steps: step,
        accumulation: 1,
        lr_schedule: LrSchedule::new(Parts {
            base: 1e-3,
            warmup: Step(0),
            shape: Shape::Constant,
        })
        .unwrap(),
        gradient_clip: 1.0,
        seed: 1,
        compare_every: 0,
        reads_late,
        faults: Default::default(),
    };
    let input = ReplicaInput {
        lane: lanes.pop().unwrap(),
        rank: 0,
        targets: Targets::by(|_| vec![]),
        stop: StopRequest::new(),
    };
    let state = train(state, input, &loop_config, &Replica::alone(), observer);
    pipeline.finish();
    state
}

struct Steps(Vec<StepReport>);

impl<T> StepObserver<T> for Steps {
    fn after_step(&mut self, report: &StepReport, _: &State<T>) -> Result<bool, TrainError> {
        self.0.push(report.clone());
        Ok(false)
    }
}

/// Batches are made on the device.
struct NoHost;

impl HostWork for NoHost {
    type Buffer = ();

    fn fill(&self, _: Ticket, _: Option<()>) -> Result<(), String> {
        Ok(())
    }

    fn bytes(&self, (): &()) -> u64 {
        1
    }
}

struct Batches<B>(Box<dyn Fn(u64) -> DeviceBatch<B> + Send>);

impl<B: Send + 'static> DeviceStage for Batches<B> {
    type Buffer = ();
    type Batch = DeviceBatch<B>;

    fn process(&mut self, ticket: Ticket, (): &()) -> Result<DeviceBatch<B>, String> {
        Ok((self.0)(ticket.step))
    }

    fn bytes(&self, _: &DeviceBatch<B>) -> u64 {
        1
    }
}
