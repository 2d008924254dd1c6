//! A device whose memory runs out in the middle of a training.
//!
//! The memory of a software GPU is the process's, which can be limited: in a process of its own,
//! because the limit stays. The engine goes on as if nothing had happened.

use std::process::Command;
use std::sync::Arc;

use burn::tensor::{Device, Gradients, Tensor};
use myxtts_data::schedule::BucketShape;
use myxtts_data::units::{Codes, Tokens};
use myxtts_model::init::Init;
use myxtts_model::layers::Linear;
use myxtts_model::params::{LoadError, StateDict, Unread, Weights, load, unread};
use myxtts_run::guard::{SpikeAction, SpikeSettings};
use myxtts_train::TrainError;
use myxtts_train::feed::{BatchStats, DeviceBatch};
use myxtts_train::objective::{Loss, Objective};
use myxtts_train::optim::{AdamW, AdamWConfig, NamedGradients};
use myxtts_train::train_loop::{Guards, LossScale, State, StepObserver, StepReport};

use myxtts_device::{
    DeviceMemory, EngineError, MemoryCheck, MemoryNeeds, PlanRequest, Precision, Savings, Share,
    Verdict, open,
};
use myxtts_run::observer::Silent;
use myxtts_run::signals::StopRequest;
use myxtts_train::placement::Placement;
use myxtts_train::session::run;

use crate::fixtures::Part;
use crate::overfit::train_on;
use crate::{mini, place, software};

/// The step before the one that does not fit.
const FITTING: u64 = 2;
/// Rows that do not fit, and the numbers of one: 96 MB, which a buffer may have.
const TOO_MANY: usize = 6;
const ROW: usize = 24 << 20;
/// Bytes there are still to get: less than those, more than the driver needs besides.
const LEFT: u64 = 200 << 20;

#[test]
fn memory_that_runs_out_is_told_with_its_bucket_and_the_weights_are_kept() {
    if software::planned().is_none() {
        return;
    }
    software::alone("memory::child", &[]);
}

#[test]
#[ignore = "run by the test above, in a process of its own"]
fn child() {
    let Some(gpu) = place::device(Part::Gpt) else {
        return;
    };
    let shape = BucketShape {
        text: Tokens(40),
        audio: Codes(120),
    };
    let batch = move |step| DeviceBatch {
        batch: match step < FITTING {
            true => 1,
            false => TOO_MANY,
        },
        stats: BatchStats {
            targets: vec![1],
            shapes: vec![(8, shape)],
            ..BatchStats::default()
        },
    };
    let mut limited = Limited::default();
    let error = train_on(batch, FITTING + 1, start(&gpu), &mut limited).unwrap_err();
    let words = error.to_string();
    assert!(matches!(error, TrainError::OutOfMemory { .. }), "{words}");
    assert!(
        words.starts_with(
            "step 3 ran out of device memory\n  found: a batch of 8 rows of 40 text tokens and \
             120 codes; the device says: wgpu error: Out of Memory\n  fix:   halve --batch-size"
        ),
        "{words}"
    );
    // What an emergency checkpoint holds: the weights after the last good step.
    let (before, rescued) = (limited.before.unwrap(), limited.rescued.unwrap());
    assert_eq!(rescued.0, FITTING);
    assert!(before == rescued.1);
}

/// What the engine's pools hold is compared with the budget after steps.
#[test]
fn a_budget_is_enforced_on_a_gpu() {
    let Some(plan) = software::planned() else {
        return;
    };
    let _alone = place::COUNTED.lock();
    let folder = tempfile::tempdir().unwrap();
    let mut job = mini::job(folder.path());
    let [mut none, mut one] = [PlanRequest::default().pipeline.model_gpu_memory; 2];
    (none.0, one.0) = (0, 1);
    let share = Share {
        trains: true,
        prepares: true,
        has_copies: false,
        is_host: false,
        batch_size: 2,
        accumulation: 1,
        ring: 2,
        in_flight: 4,
        host_ring: none,
        precision: Precision::F32,
        savings: Savings::NONE,
        mel_frames: None,
    };
    let planned = &plan.model_devices[0];
    let budget = DeviceMemory {
        device: planned.label(),
        logical: planned.logical,
        share,
        needs: MemoryNeeds::default(),
        needed_mb: none,
        memory_mb: Some(one),
        budget: Some("--model-gpu-memory"),
        verdict: Verdict::Fits,
    };
    job.plan.memory = vec![budget];
    job.config.data.pipeline.memory_check = MemoryCheck::Warn;
    let placement = Placement::on(&open(planned).unwrap());
    let error = run(
        &job,
        &placement,
        StopRequest::install().unwrap(),
        Arc::new(Silent),
    )
    .unwrap_err();
    let words = error.to_string();
    assert!(
        words.starts_with("GPU 0 holds more than its memory budget\n  asked: 1 MB in all"),
        "{words}"
    );
}

/// The least that can be trained, on batches that are only large.
#[derive(Debug)]
struct Hungry(Linear);

fn start(device: &Device) -> State<Hungry> {
    let init = Init::new(1, &device.clone().autodiff());
    let guards = Guards {
        bad_steps: 0,
        spikes: SpikeSettings {
            window: 100,
            threshold: 6.0,
            action: SpikeAction::Log,
        },
        scale: LossScale::off(),
    };
    let optimizers = vec![AdamW::new(AdamWConfig::default())];
    State::new(
        Hungry(Linear::new(&init, 3, 2, true)),
        optimizers,
        None,
        guards,
    )
}

impl Objective for Hungry {
    type Batch = usize;
    type Trace = ();

    const WEIGHTS: &'static [(&'static str, &'static str)] = &[];

    fn loss(&self, _: usize, rows: &usize, _: &[f64], _: u64) -> Result<Loss<()>, EngineError> {
        let device = self.device().inner();
        let rows: Vec<Tensor<1>> = (0..*rows)
            .map(|row| Tensor::full([ROW], row as f64, &device))
            .collect();
        // All rows are there when the first number of each is taken.
        let firsts = rows.iter().map(|row_n| row_n.clone().narrow(0, 0, 1));
        let input_1 = Tensor::cat(firsts.collect(), 0).mean().autodiff();
        Ok(Loss {
            total: self.0.weight.val().square().mean() + input_1,
            parts: vec![],
            trace: (),
        })
    }

    fn gradients(&self, _: usize, gradients: Gradients) -> NamedGradients {
        NamedGradients::collect(&self.0, gradients)
    }

    fn apply(self, _: usize, optimizer: &mut AdamW, gradients: NamedGradients, rate: f64) -> Self {
        Self(optimizer.step(self.0, gradients, rate))
    }

    fn device(&self) -> Device {
        self.0.weight.val().device()
    }

    fn tensors(&self) -> Vec<Unread> {
        unread(&self.0)
    }

    fn with_state(self, state: &dyn Weights) -> Result<Self, LoadError> {
        load(self.0, state, "").map(Self)
    }
}

/// Takes memory away after the last step that fits.
#[derive(Default)]
struct Limited {
    before: Option<StateDict>,
    rescued: Option<(u64, StateDict)>,
}

impl StepObserver<Hungry> for Limited {
    fn after_step(
        &mut self,
        report: &StepReport,
        state: &State<Hungry>,
    ) -> Result<bool, TrainError> {
        if report.step == FITTING {
            self.before = Some(state.objective.state().unwrap());
            let held = std::fs::read_to_string("/proc/self/statm").unwrap();
            let pages: u64 = held.split_whitespace().next().unwrap().parse().unwrap();
            let limited = Command::new("prlimit")
                .arg(format!("--pid={}", std::process::id()))
                .arg(format!("--as={}", pages * 4096 + LEFT))
                .status()
                .unwrap();
            assert!(limited.success());
        }
        Ok(false)
    }

    fn failed(&mut self, _: &TrainError, state: &State<Hungry>) {
        self.rescued = Some((state.done, state.objective.state().unwrap()));
    }
}
