//! The feed over the sample corpus, against a loop that does one thing after
//! the other.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use burn::tensor::TensorData;
use myxtts_audio::{AudioConfig, Limits};
use myxtts_data::cache::FeatureCache;
use myxtts_data::codes::CodesCache;
use myxtts_data::host_stage::{Clip, HostFeed, HostStage, HostStageConfig, Segments};
use myxtts_data::units::Codes;
use myxtts_model::gpt::GptBatch;
use myxtts_pipeline::{Failure, Knobs, Ledger, Make, NoHop, Pipeline, Ticket};
use myxtts_text::CleanOptions;
use myxtts_train::feed::{DeviceBatch, DeviceFeed, FrontEnd, ShapeTracker, single_lane};

use crate::world::{CONDITIONING, WORLD, device, host, in_memory, source};

/// Every value of a batch.
pub(crate) type Values = Vec<TensorData>;

pub(crate) fn values(batch: GptBatch) -> Values {
    vec![
        batch.text_bt.into_data(),
        batch.text_lengths_b.into_data(),
        batch.codes_bm.into_data(),
        batch.code_lengths_b.into_data(),
        batch.conditioning_bcs.into_data(),
        batch.prompts_b2.unwrap().into_data(),
    ]
}

fn plain_loop(steps: Range<u64>, codes: Option<Arc<CodesCache>>) -> Vec<(u64, Values)> {
    let host = host(codes.clone());
    let mut device = device(codes, Arc::default());
    steps
        .map(|step| {
            let filled = host.prepare(Ticket { step, lane: 0 }, None).unwrap();
            (step, values(device.batch(&filled).unwrap()))
        })
        .collect()
}

fn pipeline(
    steps: Range<u64>,
    workers: usize,
    codes: Option<Arc<CodesCache>>,
    tracker: Arc<ShapeTracker>,
) -> Vec<(u64, Values)> {
    let knobs = Knobs {
        workers,
        in_flight: 6,
        ring_depth: 2,
    };
    let mel = FrontEnd::XTTS.conditioning;
    let setup = single_lane(&WORLD.schedule, CONDITIONING, &mel, steps, knobs);
    let host = host(codes.clone());
    let device_stage: Make<DeviceFeed> = Box::new(move || {
        let mut feed = device(codes, Arc::clone(&tracker));
        feed.warm_up(WORLD.schedule.shapes(), CONDITIONING)?;
        tracker.end_warm_up();
        Ok(feed)
    });
    let hops: Vec<Make<NoHop<DeviceBatch<GptBatch>>>> = vec![];
    let (pipeline, mut lanes) =
        Pipeline::start(&setup, host, vec![device_stage], hops, Ledger::in_memory()).unwrap();
    let mut seen = vec![];
    while let Some(delivered) = lanes[0].next().unwrap() {
        seen.push((delivered.step, values(delivered.batch.batch)));
    }
    drop(lanes);
    let outcome = pipeline.finish();
    assert_eq!(outcome.failure, None);
    for ring in outcome.summary.rings {
        let bounds = match ring.ring {
            "host" => setup.host_ring,
            _ => setup.device_ring,
        };
        assert!(ring.peak_bytes <= bounds.bytes, "{ring:?} {bounds:?}");
    }
    seen
}

#[test]
fn batches_and_their_order_are_the_same_for_any_number_of_workers() {
    let epoch = WORLD.schedule.steps_per_epoch();
    assert!(epoch > 3, "{epoch}");
    let steps = 0..epoch + 3;
    let plain = plain_loop(steps.clone(), None);
    for workers in [1, 2, 8] {
        let tracker = Arc::new(ShapeTracker::default());
        let seen = pipeline(steps.clone(), workers, None, tracker.clone());
        assert!(seen == plain, "{workers} workers");
        assert_eq!(tracker.after_warm_up(), 0);
        assert_eq!(tracker.shapes().len(), WORLD.schedule.shapes().count());
    }
}

#[test]
fn a_run_resumes_at_any_step() {
    let epoch = WORLD.schedule.steps_per_epoch();
    let plain = plain_loop(0..2 * epoch, None);
    for first in [1, epoch - 1, epoch, epoch + 2] {
        let seen = pipeline(first..first + 2, 2, None, Arc::default());
        let from = usize::try_from(first).unwrap();
        assert!(seen == plain[from..from + 2], "from step {first}");
    }
}

#[test]
fn cached_codes_change_nothing() {
    let epoch = WORLD.schedule.steps_per_epoch();
    let plain = plain_loop(0..2 * epoch, None);
    let folder = tempfile::tempdir().unwrap();
    let on_disk = |seed| {
        let cache = FeatureCache::open(folder.path()).unwrap();
        Arc::new(CodesCache::on_disk(
            WORLD.contents.clone(),
            source(seed),
            cache,
        ))
    };
    for cache in [in_memory(), on_disk(3)] {
        let seen = pipeline(0..2 * epoch, 2, Some(cache.clone()), Arc::default());
        assert!(seen == plain);
        assert_eq!(cached_steps(&cache), 0..epoch);
    }
    assert_eq!(cached_steps(&on_disk(3)), 0..epoch, "in a later run");
    assert!(cached_steps(&on_disk(4)).is_empty(), "another DVAE");
}

/// The steps of the first epoch up to the first that is not cached.
fn cached_steps(cache: &Arc<CodesCache>) -> Range<u64> {
    let host = host(Some(cache.clone()));
    let mut steps = 0..WORLD.schedule.steps_per_epoch();
    let missing = steps.find(|step| {
        let filled = host
            .prepare(
                Ticket {
                    step: *step,
                    lane: 0,
                },
                None,
            )
            .unwrap();
        filled.codes_bm().is_none()
    });
    0..missing.unwrap_or(WORLD.schedule.steps_per_epoch())
}

#[test]
fn a_damaged_entry_is_counted_and_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let cache = FeatureCache::open(folder.path()).unwrap();
    let cache = Arc::new(CodesCache::on_disk(
        WORLD.contents.clone(),
        source(3),
        cache,
    ));
    let plain = plain_loop(0..1, Some(cache.clone()));
    for entry in entries(folder.path()) {
        let mut bytes = std::fs::read(&entry).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        std::fs::write(&entry, bytes).unwrap();
    }
    assert!(plain_loop(0..1, Some(cache.clone())) == plain);
    assert_eq!(
        cache.damaged(),
        1,
        "the first damaged clip ends the look-up"
    );
    let again = plain_loop(0..1, Some(cache.clone()));
    assert!(again == plain);
    assert_eq!(cache.damaged(), 1);
}

fn entries(folder: &Path) -> Vec<std::path::PathBuf> {
    let below = |folder: &Path| -> Vec<std::path::PathBuf> {
        let files = std::fs::read_dir(folder).unwrap();
        files.map(|file| file.unwrap().path()).collect()
    };
    let folders = below(folder).into_iter().filter(|path| path.is_dir());
    folders.flat_map(|path| below(&path)).collect()
}

#[test]
fn what_is_in_a_batch() {
    let host = host(None);
    let filled = host.prepare(Ticket { step: 1, lane: 0 }, None).unwrap();
    let mut feed = device(None, Arc::default());
    let batch = feed.batch(&filled).unwrap();
    let shape = filled.batch.shape();
    let rows = filled.batch.rows();
    let codes = shape.audio.0 as usize;
    assert_eq!(batch.codes_bm.dims(), [rows, codes]);
    assert_eq!(batch.conditioning_bcs.dims(), [rows, 80, 22_050 / 256 + 1]);
    let code_lengths: Vec<i64> = batch.code_lengths_b.into_data().iter().collect();
    let expected: Vec<i64> = filled
        .batch
        .wave_lengths()
        .iter()
        .map(|length| i64::from(Codes::of(*length).0))
        .collect();
    assert_eq!(code_lengths, expected);
    let values: Vec<i64> = batch.codes_bm.into_data().iter().collect();
    for (row, length) in values.chunks(codes).zip(expected) {
        let (own, padding) = row.split_at(usize::try_from(length).unwrap());
        assert!(own.iter().all(|code| (0..32).contains(code)));
        assert!(own.iter().any(|code| *code != own[0]), "all codes alike");
        assert!(padding.iter().all(|code| *code == 0));
    }
    let prompts: Vec<i64> = batch.prompts_b2.unwrap().into_data().iter().collect();
    for (ends, segment) in prompts.chunks(2).zip(filled.batch.segments()) {
        let start = segment.start.0 as i64;
        assert_eq!(ends, [start, start + segment.length.0 as i64]);
    }
}

#[test]
fn a_clip_that_is_gone_ends_the_run_in_words() {
    let schedule = &WORLD.schedule;
    let few: Arc<[Clip]> = WORLD.clips[..1].into();
    let config = HostStageConfig {
        audio: AudioConfig::default(),
        limits: Limits::default(),
        text: CleanOptions::default(),
        conditioning: CONDITIONING,
        segments: Segments::Fixed,
    };
    let stage = HostStage::new(few, WORLD.vocabulary.clone(), config);
    let host = HostFeed::new(stage, schedule.clone(), None).unwrap();
    let knobs = Knobs {
        workers: 1,
        in_flight: 2,
        ring_depth: 2,
    };
    let mel = FrontEnd::XTTS.conditioning;
    let setup = single_lane(schedule, CONDITIONING, &mel, 0..4, knobs);
    let device_stage: Make<DeviceFeed> = Box::new(|| Ok(device(None, Arc::default())));
    let hops: Vec<Make<NoHop<DeviceBatch<GptBatch>>>> = vec![];
    let (_pipeline, mut lanes) =
        Pipeline::start(&setup, host, vec![device_stage], hops, Ledger::in_memory()).unwrap();
    let failure = loop {
        match lanes[0].next() {
            Ok(Some(_)) => {}
            Ok(None) => panic!("the run came to its end"),
            Err(failure) => break failure,
        }
    };
    assert!(matches!(failure, Failure::Failed { .. }), "{failure:?}");
    insta::assert_snapshot!(failure);
}
