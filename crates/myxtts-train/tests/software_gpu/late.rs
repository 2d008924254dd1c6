//! Steps that a device takes before the host has read the last one.

use std::collections::BTreeMap;

use burn::tensor::{Device, Tensor};
use myxtts_device::{Launches, MomentBits};
use myxtts_model::dvae::{Dvae, DvaeConfig, MovingAverage};
use myxtts_model::gpt::GptBatch;
use myxtts_model::init::Init;
use myxtts_ops::Compute;
use myxtts_train::TrainError;
use myxtts_train::feed::DeviceBatch;
use myxtts_train::objective::{GptObjective, Objective};
use myxtts_train::optim::{AdamW, AdamWConfig};
use myxtts_train::train_loop::{State, StepObserver, StepReport};

use crate::fixtures::{Part, values};
use crate::overfit::{clips, start, train_reading};
use crate::place;

const STEPS: u64 = 8;
/// Steps whose recordings are not numbers, counted from 0.
const BAD: [u64; 2] = [3, 4];
/// A step that somebody looks at.
const SEEN: u64 = 6;

/// Keeps every report, with the step that the state was at.
#[derive(Default)]
struct Seen {
    reports: Vec<StepReport>,
    done: Vec<u64>,
}

impl<T> StepObserver<T> for Seen {
    fn looks_at(&self, step: u64) -> bool {
        step == SEEN
    }

    fn after_step(&mut self, report: &StepReport, state: &State<T>) -> Result<bool, TrainError> {
        self.reports.push(report.clone());
        self.done.push(state.done);
        Ok(false)
    }
}

/// The batch of a step.
fn batch(gpu: &Device) -> impl Fn(u64) -> DeviceBatch<GptBatch> + Send + 'static {
    let good = clips(gpu);
    let mut bad = good.clone();
    bad.batch.conditioning_bcs = bad.batch.conditioning_bcs * f32::NAN;
    // Whole before they are handed over, as the feed's are.
    gpu.sync().unwrap();
    move |step| match BAD.contains(&step) {
        true => bad.clone(),
        false => good.clone(),
    }
}

fn train(
    reads_late: bool,
    state: State<GptObjective>,
    step: u64,
    gpu: &Device,
) -> (State<GptObjective>, Seen) {
    let mut seen = Seen::default();
    let state = train_reading(reads_late, batch(gpu), step, state, &mut seen);
    (state.unwrap(), seen)
}

/// All that a checkpoint would hold of the model and its optimizer. Values are copied at once: the
/// engine reads when it is looked at, and finds what is there by then.
fn saved(state: &State<GptObjective>) -> BTreeMap<String, Vec<f64>> {
    let optimizer = state.optimizers[0].state_dict().unwrap();
    let all = state
        .objective
        .state()
        .unwrap()
        .into_iter()
        .chain(optimizer);
    all.map(|(name, data)| (name, data.iter().collect()))
        .collect()
}

/// The names of what differs.
fn changed(before: &BTreeMap<String, Vec<f64>>, state: &State<GptObjective>) -> Vec<String> {
    let after = saved(state);
    assert!(before.keys().eq(after.keys()));
    let differs = |name: &&String| before[*name] != after[*name];
    before.keys().filter(differs).cloned().collect()
}

fn begin(compute: Compute, moments: MomentBits, gpu: &Device) -> State<GptObjective> {
    let mut state = start(compute, gpu);
    let config = AdamWConfig {
        moments,
        ..AdamWConfig::default()
    };
    state.optimizers = vec![AdamW::new(config)];
    state
}

const KINDS: [(Compute, MomentBits); 3] = [
    (Compute::F32, MomentBits::F32),
    (Compute::F32, MomentBits::Int8),
    (Compute::F16, MomentBits::F32),
];

#[test]
fn a_step_that_the_device_refuses_changes_nothing() {
    let Some(gpu) = place::device(Part::Gpt) else {
        return;
    };
    let _alone = place::COUNTED.lock();
    for (compute, moments) in KINDS {
        let (state, _) = train(true, begin(compute, moments, &gpu), BAD[0], &gpu);
        let before = saved(&state);
        let (state, seen) = train(true, state, BAD[1] + 1, &gpu);
        assert!(seen.reports.iter().all(|report| report.skipped.is_some()));
        assert_eq!(seen.reports.len(), BAD.len());
        let none: [String; 0] = [];
        assert_eq!(changed(&before, &state), none, "{compute:?} {moments:?}");
        assert_eq!(state.done, BAD[1] + 1);
        let factor = match compute {
            Compute::F16 => 65_536.0 / 4.0,
            _ => 1.0,
        };
        assert_eq!(state.scale.factor(), factor);
    }
}

/// Before step n is reported, step n + 1 is queued, so the device never waits. Everybody who
/// looks at a step sees that step.
#[test]
fn the_host_reads_a_step_while_the_device_computes_the_next() {
    let Some(gpu) = place::device(Part::Gpt) else {
        return;
    };
    let _alone = place::COUNTED.lock();
    for (compute, moments) in KINDS {
        let new = || begin(compute, moments, &gpu);
        let (late_state, late) = train(true, new(), STEPS, &gpu);
        let (known_state, known) = train(false, new(), STEPS, &gpu);
        for seen in [&late, &known] {
            let skipped = seen.reports.iter().map(|report| report.skipped.is_some());
            let expected = (0..STEPS).map(|step| BAD.contains(&step));
            assert!(skipped.eq(expected), "{:?}", seen.reports);
            let steps = seen.reports.iter().map(|report| report.step);
            assert!(steps.eq(1..=STEPS));
        }
        // The first step waits for memory, the last for the end.
        let syncs = |seen: &Seen| -> Vec<u64> {
            let steps = seen.reports.iter();
            steps.map(|report| report.waits.syncs).collect()
        };
        assert_eq!(late.done, [2, 3, 4, 5, 6, 6, 8, 8]);
        assert_eq!(syncs(&late), [1, 0, 0, 0, 0, 1, 0, 1]);
        assert_eq!(known.done, [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(syncs(&known), [2, 1, 1, 1, 1, 1, 1, 1]);
        // The device decides as the host does, and counts steps as it does.
        assert_eq!(late_state.scale, known_state.scale);
        let counts =
            |state: &State<GptObjective>| -> Vec<_> { state.optimizers[0].steps().collect() };
        assert_eq!(counts(&late_state), counts(&known_state));
        assert!(counts(&late_state).iter().all(|(_, steps)| *steps == 6));
        for (late, known) in late.reports.iter().zip(&known.reports) {
            let off = (late.loss - known.loss).abs() / known.loss;
            // Draws of eight bits differ after a step that was left out.
            let most = match moments {
                MomentBits::F32 => 1e-5,
                MomentBits::Int8 => 1e-2,
            };
            assert!(known.skipped.is_some() || off < most, "{late:?} {known:?}");
            assert_eq!(late.skipped, known.skipped);
            assert_eq!((late.rate, late.step), (known.rate, known.step));
        }
        // A training that ends between the two bad steps goes on as if it had not.
        let (state, _) = train(true, new(), BAD[1], &gpu);
        let (resumed, _) = train(true, state, STEPS, &gpu);
        let none: [String; 0] = [];
        assert_eq!(changed(&saved(&resumed), &late_state), none);
    }
}

#[test]
fn launches_of_a_step() {
    let Some(gpu) = place::device(Part::Gpt) else {
        return;
    };
    let _alone = place::COUNTED.lock();
    let launched = |reads_late: bool, steps: u64| -> u64 {
        let state = begin(Compute::F32, MomentBits::F32, &gpu);
        let launches = Launches::watch(false);
        launches.begin();
        train(reads_late, state, steps, &gpu);
        let kernels = launches.finish();
        kernels.iter().map(|kernel| kernel.launches).sum()
    };
    let [known, late] = [false, true].map(|reads_late| {
        // Kernels are found once.
        launched(reads_late, STEPS);
        let [few, many] = [STEPS, 2 * STEPS].map(|steps| launched(reads_late, steps));
        (many - few) as f64 / STEPS as f64
    });
    eprintln!("launches of a step: {known} if the host decides on it, {late} if the device does");
    // The check for numbers and the corrections are the same for all parameters.
    assert!(late < known + 16.0, "{known} {late}");
}

#[test]
fn a_codebook_is_kept_whole_or_moved_whole() {
    let Some(gpu) = place::device(Part::Codec) else {
        return;
    };
    let device = gpu.clone().autodiff();
    let dvae = Dvae::new(&Init::new(3, &device), &DvaeConfig::TINY).unwrap();
    let before = dvae.codebook;
    let [channels, _] = before.embed.dims();
    let z_nc = Tensor::<2>::ones([4, channels], &device);
    let codes_n = before.lookup(z_nc.clone());
    let moved = before
        .clone()
        .moved(z_nc, codes_n, MovingAverage::default());
    let all = |codebook: &myxtts_model::dvae::Codebook| {
        [
            values(codebook.embed.val()),
            values(codebook.cluster_size.val()),
            values(codebook.embed_avg.val()),
        ]
    };
    for (applies, expected) in [(true, &moved), (false, &before)] {
        let applies_1 = Tensor::from_data([applies], &gpu);
        let chosen = moved.clone().only_if(applies_1, &before);
        assert_eq!(all(&chosen), all(expected));
    }
    assert_ne!(all(&moved), all(&before));
}
