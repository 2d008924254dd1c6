//! Every clip once per epoch, whatever the replicas, from any step.

use std::collections::BTreeMap;

use myxtts_audio::units::Samples;
use myxtts_data::schedule::{
    BucketShape, ClipIndex, ClipLength, ConditioningSpec, Schedule, choose_buckets, padding_percent,
};
use myxtts_data::units::{Codes, Tokens};
use proptest::prelude::*;

fn length(text: u32, audio: u32) -> ClipLength {
    ClipLength {
        text: Tokens(text),
        audio: Codes(audio),
    }
}

fn lengths() -> impl Strategy<Value = Vec<ClipLength>> {
    prop::collection::vec(
        (1_u32..200, 4_u32..250).prop_map(|(t, a)| length(t, a)),
        1..300,
    )
}

/// Lengths as recordings have them: text follows audio, a few are long.
fn speech(count: u32) -> Vec<ClipLength> {
    (0..count)
        .map(|i| {
            let spread = f64::from(i * 7919 % 1000) / 1000.0;
            let seconds = 1.2 + 8.8 * spread.powf(1.3);
            let rate = 12.0 + f64::from(i * 31 % 17) / 8.0;
            length((seconds * rate) as u32, (seconds * 21.53) as u32)
        })
        .collect()
}

/// The best buckets by trying every cut: the slow reference.
fn best_by_trying(clips: &[ClipLength], count: usize) -> u64 {
    fn cost(clips: &[ClipLength]) -> u64 {
        let text = clips.iter().map(|c| c.text.0).max().unwrap_or(0);
        let audio = clips.iter().map(|c| c.audio.0).max().unwrap_or(0);
        clips.len() as u64 * u64::from(text + audio)
    }
    match count {
        1 => cost(clips),
        _ => (1..clips.len())
            .map(|cut| best_by_trying(&clips[..cut], count - 1) + cost(&clips[cut..]))
            .chain([cost(clips)])
            .min()
            .unwrap_or(0),
    }
}

fn cost_of(clips: &[ClipLength], shapes: &[BucketShape]) -> u64 {
    let cheapest = |clip: &ClipLength| {
        let fits = shapes
            .iter()
            .filter(|s| clip.text <= s.text && clip.audio <= s.audio);
        fits.map(BucketShape::cost).min().unwrap()
    };
    clips.iter().map(cheapest).sum()
}

fn rows_of(schedule: &Schedule, epoch: u64, replicas: u32) -> Vec<ClipIndex> {
    let mut rows = Vec::new();
    for step in 0..schedule.steps_per_epoch() {
        for replica in 0..replicas {
            rows.extend(
                schedule
                    .batch(epoch, step, replica)
                    .unwrap()
                    .rows
                    .into_iter()
                    .flatten(),
            );
        }
    }
    rows
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(128) })]

    #[test]
    fn every_clip_comes_once_per_epoch(
        lengths in lengths(), buckets in 1_usize..10, batch in 1_u32..20, replicas in 1_u32..5,
        seed: u64, epoch in 0_u64..1000,
    ) {
        let shapes = choose_buckets(&lengths, buckets);
        let schedule = Schedule::new(&lengths, &shapes, batch, replicas, seed).unwrap();
        let mut rows = rows_of(&schedule, epoch, replicas);
        rows.sort();
        let all: Vec<ClipIndex> = (0..u32::try_from(lengths.len()).unwrap()).map(ClipIndex).collect();
        prop_assert_eq!(rows, all);
    }

    #[test]
    fn batches_keep_their_shape_and_hold_their_clips(
        lengths in lengths(), buckets in 1_usize..10, batch in 1_u32..20, replicas in 1_u32..4, seed: u64,
    ) {
        let shapes = choose_buckets(&lengths, buckets);
        let schedule = Schedule::new(&lengths, &shapes, batch, replicas, seed).unwrap();
        let closed: Vec<(BucketShape, u32)> = schedule.shapes().collect();
        for step in 0..schedule.steps_per_epoch() {
            let batches: Vec<_> = (0..replicas).map(|r| schedule.batch(3, step, r).unwrap()).collect();
            for batch in &batches {
                let rows = u32::try_from(batch.rows.len()).unwrap();
                prop_assert!(closed.contains(&(batch.shape, rows)));
                prop_assert_eq!(batch.bucket, batches[0].bucket, "replicas share a bucket");
                for clip in batch.rows.iter().flatten() {
                    let clip = lengths[clip.0 as usize];
                    prop_assert!(clip.text <= batch.shape.text && clip.audio <= batch.shape.audio);
                }
            }
            let filled: Vec<usize> = batches.iter().map(|b| b.rows.iter().flatten().count()).collect();
            prop_assert!(filled.iter().max().unwrap() - filled.iter().min().unwrap() <= 1);
        }
        prop_assert!(schedule.batch(3, schedule.steps_per_epoch(), 0).is_none());
        prop_assert!(schedule.batch(3, 0, replicas).is_none());
    }

    #[test]
    fn the_search_finds_the_best_cuts(lengths in prop::collection::vec((1_u32..50, 4_u32..50).prop_map(|(t, a)| length(t, a)), 1..9), count in 1_usize..4) {
        let shapes = choose_buckets(&lengths, count);
        let mut sorted = lengths.clone();
        sorted.sort_by_key(|clip| (clip.audio, clip.text));
        // Clips may fall into a cheaper bucket than the run they came from.
        prop_assert!(cost_of(&lengths, &shapes) <= best_by_trying(&sorted, count));
    }

    #[test]
    fn padding_is_what_the_report_says(lengths in lengths(), buckets in 1_usize..10, batch in 1_u32..20, replicas in 1_u32..4) {
        let shapes = choose_buckets(&lengths, buckets);
        let schedule = Schedule::new(&lengths, &shapes, batch, replicas, 1).unwrap();
        let (mut padded, mut real) = (0_u64, 0_u64);
        for step in 0..schedule.steps_per_epoch() {
            for replica in 0..replicas {
                let batch = schedule.batch(0, step, replica).unwrap();
                padded += batch.shape.cost() * batch.rows.len() as u64;
                for clip in batch.rows.iter().flatten() {
                    let clip = lengths[clip.0 as usize];
                    real += u64::from(clip.text.0 + clip.audio.0);
                }
            }
        }
        let measured = 100.0 * (padded - real) as f64 / padded as f64;
        prop_assert!((measured - schedule.padding_percent(&lengths)).abs() < 1e-9);
    }

    #[test]
    fn a_segment_lies_inside_its_clip(clip in 0_u32..1000, samples in 1_usize..500_000, seed: u64, epoch: u64) {
        let spec = ConditioningSpec { min: Samples(66_150), max: Samples(132_300) };
        let segment = spec.segment(ClipIndex(clip), Samples(samples), seed, epoch);
        prop_assert!(segment.start.0 + segment.length.0 <= samples);
        prop_assert!(segment.length <= spec.max);
        prop_assert_eq!(segment, spec.segment(ClipIndex(clip), Samples(samples), seed, epoch));
        if samples >= spec.max.0 {
            prop_assert!(segment.length >= spec.min);
        }
        let fixed = spec.fixed(Samples(samples));
        prop_assert!(fixed.start.0 + fixed.length.0 <= samples);
    }
}

#[test]
fn epochs_and_seeds_differ_and_steps_do_not_depend_on_each_other() {
    let lengths = speech(500);
    let shapes = choose_buckets(&lengths, 8);
    let schedule = |seed| Schedule::new(&lengths, &shapes, 8, 1, seed).unwrap();
    let one = schedule(1);
    assert_ne!(rows_of(&one, 0, 1), rows_of(&one, 1, 1));
    assert_ne!(rows_of(&one, 0, 1), rows_of(&schedule(2), 0, 1));
    let forward: BTreeMap<u64, _> = (0..one.steps_per_epoch())
        .map(|step| (step, one.batch(5, step, 0)))
        .collect();
    for step in (0..one.steps_per_epoch()).rev() {
        assert_eq!(
            schedule(1).batch(5, step, 0),
            forward[&step],
            "resumed at {step}"
        );
    }
}

#[test]
fn two_replicas_see_the_clips_of_one_batch_twice_as_large() {
    let lengths = speech(333);
    let shapes = choose_buckets(&lengths, 1);
    let two = Schedule::new(&lengths, &shapes, 4, 2, 9).unwrap();
    let one = Schedule::new(&lengths, &shapes, 8, 1, 9).unwrap();
    assert_eq!(two.steps_per_epoch(), one.steps_per_epoch());
    for step in 0..one.steps_per_epoch() {
        let sorted = |batches: Vec<Option<ClipIndex>>| {
            let mut clips: Vec<ClipIndex> = batches.into_iter().flatten().collect();
            clips.sort();
            clips
        };
        let both = [
            two.batch(2, step, 0).unwrap().rows,
            two.batch(2, step, 1).unwrap().rows,
        ]
        .concat();
        assert_eq!(sorted(both), sorted(one.batch(2, step, 0).unwrap().rows));
    }
}

/// The rows of a bucket are chosen to fill its last batch.
#[test]
fn few_rows_are_empty() {
    let lengths = speech(1200);
    let shapes = choose_buckets(&lengths, 8);
    for replicas in [1, 2] {
        let schedule = Schedule::new(&lengths, &shapes, 8, replicas, 9).unwrap();
        let all = schedule.padding_percent(&lengths);
        let within = padding_percent(&lengths, &shapes);
        println!("{replicas} replicas: {all:.1} % padding, {within:.1} % without empty rows");
        assert!(all - within < f64::from(replicas), "{all} and {within}");
    }
}

#[test]
fn more_buckets_pad_less() {
    let lengths = speech(4000);
    let padding = |count| padding_percent(&lengths, &choose_buckets(&lengths, count));
    let report: Vec<f64> = [1, 4, 8, 16].map(padding).to_vec();
    println!("padding with 1, 4, 8, 16 buckets: {report:.1?} %");
    assert!(
        report.windows(2).all(|pair| pair[1] < pair[0]),
        "{report:?}"
    );
    assert!(report[2] < 13.0, "{report:?}");
}

#[test]
fn a_clip_that_fits_no_bucket_is_named() {
    let lengths = [length(5, 5), length(9, 9)];
    let shapes = [BucketShape {
        text: Tokens(6),
        audio: Codes(6),
    }];
    assert_eq!(
        Schedule::new(&lengths, &shapes, 1, 1, 0).unwrap_err(),
        ClipIndex(1)
    );
}

#[test]
fn no_clips_no_steps() {
    let schedule = Schedule::new(&[], &choose_buckets(&[], 8), 4, 1, 0).unwrap();
    assert_eq!(schedule.steps_per_epoch(), 0);
    assert_eq!(schedule.batch(0, 0, 0), None);
}
