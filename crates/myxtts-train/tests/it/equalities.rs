//! One step is one step: in parts, on replicas, or with its batches made
//! elsewhere.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use burn::tensor::Device;
use myxtts_data::host_stage::HostFeed;
use myxtts_model::dvae::Dvae;
use myxtts_model::init::Init;
use myxtts_model::params::StateDict;
use myxtts_train::TrainError;
use myxtts_train::feed::{
    FrontEnd, LargestBatch, SegmentFeed, Targets, segment_schedule, segment_spec,
};
use myxtts_train::objective::{DvaeObjective, DvaeObjectiveConfig, Objective};
use myxtts_train::placement::Placement;

use crate::small_stage::{
    CLIPS, Seen, clips, gpt, gpt_device_stage, gpt_targets, loop_config, mirrored, one, run,
    schedule, split, state, train_gpt,
};
use crate::world::{CONDITIONING, SMALL, WORLD, stage};

fn flat(state: &StateDict) -> Vec<f64> {
    let values = state.values().flat_map(|data| data.iter::<f64>());
    values.collect()
}

fn norm(values: impl Iterator<Item = f64>) -> f64 {
    values.map(|value| value * value).sum::<f64>().sqrt()
}

/// How far two trainings from the same start came apart, in parts of the way.
fn apart(start: &StateDict, a: &StateDict, b: &StateDict) -> f64 {
    let (start, a, b) = (flat(start), flat(a), flat(b));
    let between = norm(a.iter().zip(&b).map(|(a, b)| a - b));
    let way = norm(a.iter().zip(&start).map(|(a, start)| a - start));
    assert!(way > 1e-4, "nothing was learnt: {way}");
    between / way
}

fn assert_close(a: &Seen, b: &Seen) {
    assert_eq!(a.clips().len(), b.clips().len());
    for (a, b) in a.steps.iter().zip(&b.steps) {
        for (name, a, b) in [("loss", a.loss, b.loss), ("norm", a.norm, b.norm)] {
            assert!((a - b).abs() <= 1e-5 * b.abs(), "{name}: {a} and {b}");
        }
        for ((name, a), (_, b)) in a.parts.iter().zip(&b.parts) {
            assert!((a - b).abs() <= 1e-5 * b.abs(), "{name}: {a} and {b}");
        }
    }
}

#[test]
fn accumulated_batches_are_one_large_batch() {
    let start = gpt(&Device::flex(), 3, 0.0).state().unwrap();
    let (whole, seen_whole) = train_gpt(&one(), &schedule(16, 1), &loop_config(3, 1), 0.0);
    // Sixteen are more than the pipeline has places for.
    for parts in [2, 4, 16] {
        let accumulation = usize::try_from(parts).unwrap();
        let batches = schedule(16 / parts, 1);
        let (parted, seen) = train_gpt(&one(), &batches, &loop_config(3, accumulation), 0.0);
        assert_eq!(seen.clips(), seen_whole.clips());
        assert_close(&seen, &seen_whole);
        let apart = apart(&start, &whole, &parted);
        assert!(apart < 1e-5, "{parts} parts: {apart}");
    }
}

#[test]
fn replicas_are_one_large_batch() {
    let start = gpt(&Device::flex(), 3, 0.0).state().unwrap();
    let (whole, seen_whole) = train_gpt(&one(), &schedule(8, 1), &loop_config(4, 1), 0.0);
    let (shared, seen) = train_gpt(&mirrored(), &schedule(4, 2), &loop_config(4, 1), 0.0);
    assert_close(&seen, &seen_whole);
    let apart = apart(&start, &whole, &shared);
    assert!(apart < 1e-5, "{apart}");
    let of_one: usize = seen.clips().iter().map(Vec::len).sum();
    assert_eq!(of_one, CLIPS, "each replica sees half of two epochs");
}

/// Replicas that accumulate, with dropout: their weights are compared after
/// every step, and the run does not repeat differently.
#[test]
fn replicas_stay_equal_and_repeat() {
    let train = || train_gpt(&mirrored(), &schedule(4, 2), &loop_config(2, 2), 0.1);
    let ((first, seen_first), (second, seen_second)) = (train(), train());
    assert_eq!(seen_first.losses(), seen_second.losses());
    assert!(flat(&first) == flat(&second));
}

/// The comparison of the test before can fail.
#[test]
fn replicas_that_differ_are_found_out() {
    let batches = schedule(4, 2);
    let host = HostFeed::new(stage(clips(), CONDITIONING), batches.clone(), None).unwrap();
    let largest = LargestBatch::of(&batches, CONDITIONING, &FrontEnd::XTTS.conditioning);
    let seed = AtomicU64::new(0);
    let new = |device: &Device| state(gpt(device, seed.fetch_add(1, Ordering::Relaxed), 0.0));
    let (ended, _) = run(
        &mirrored(),
        host,
        largest,
        gpt_device_stage(),
        new,
        &loop_config(4, 1),
        gpt_targets(&batches),
        Seen::default(),
    );
    let error = ended.unwrap_err();
    assert!(matches!(error, TrainError::Diverged { step: 1 }), "{error}");
}

#[test]
fn batches_made_elsewhere_change_no_bit() {
    let train =
        |placement: &Placement| train_gpt(placement, &schedule(8, 1), &loop_config(4, 1), 0.1);
    let (here, seen_here) = train(&one());
    let (there, seen_there) = train(&split());
    assert_eq!(seen_here.losses(), seen_there.losses());
    assert!(flat(&here) == flat(&there));
}

/// The codebook learns without gradients; its replicas must be equal too.
#[test]
fn replicas_of_the_dvae_stay_equal() {
    const FRAMES: usize = 32;
    let front_end = FrontEnd::XTTS;
    let spec = segment_spec(FRAMES, &front_end.codes);
    let batches = segment_schedule(&WORLD.lengths[..CLIPS], 4, 2, 5).unwrap();
    let batches = Arc::new(batches);
    let largest = LargestBatch::of(&batches, spec, &front_end.codes);
    let train = || {
        let host = HostFeed::new(stage(clips(), spec), batches.clone(), None).unwrap();
        let front_end = front_end.clone();
        let device_stage = Arc::new(move |device: &Device| {
            SegmentFeed::new(device, &front_end, FRAMES).map_err(|why| why.to_string())
        });
        let new = |device: &Device| {
            let init = Init::new(3, &device.clone().autodiff());
            let dvae = Dvae::new(&init, &SMALL).unwrap();
            state(DvaeObjective::new(dvae, DvaeObjectiveConfig::default()))
        };
        let (ended, seen) = run(
            &mirrored(),
            host,
            largest,
            device_stage,
            new,
            &loop_config(6, 1),
            Targets::of_segments(&batches),
            Seen::default(),
        );
        let (trained, _) = ended.unwrap();
        (trained.objective.state().unwrap(), seen.losses())
    };
    let (first, losses) = train();
    let start = Dvae::new(&Init::new(3, &Device::flex()), &SMALL).unwrap();
    let start = myxtts_model::params::state_dict(&start).unwrap();
    assert!(first["codebook.embed"] != start["codebook.embed"]);
    assert_eq!(losses.len(), 6);
    let (second, again) = train();
    assert_eq!(losses, again);
    assert!(flat(&first) == flat(&second));
}
