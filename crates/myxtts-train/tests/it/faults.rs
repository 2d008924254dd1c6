//! What goes wrong under a training: everybody goes home, the first reason is
//! the one told, and what was learnt is handed over for a checkpoint.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use burn::tensor::Device;
use myxtts_data::cache::FeatureCache;
use myxtts_data::codes::CodesCache;
use myxtts_data::host_stage::{Clip, ClipSource, ClipView, HostFeed, PreparedBatch};
use myxtts_data::schedule::ClipIndex;
use myxtts_model::gpt::GptBatch;
use myxtts_pipeline::{DeviceStage, Ticket};
use myxtts_train::feed::{DeviceBatch, DeviceFeed, FrontEnd, LargestBatch};
use myxtts_train::objective::GptObjective;

use crate::small_stage::{
    Ended, Seen, clips, gpt, gpt_device_stage, gpt_targets, loop_config, mirrored, one, run,
    schedule, state, train_gpt, train_gpt_until,
};
use crate::world::{CONDITIONING, WORLD, device, source, stage};

/// Two epochs.
const STEPS: u64 = 8;

/// The clips, each after `before`.
struct Troubled<F> {
    clips: Arc<[Clip]>,
    before: F,
}

impl<F: Fn(ClipIndex)> ClipSource for Troubled<F> {
    fn clip(&self, index: ClipIndex) -> Option<ClipView<'_>> {
        (self.before)(index);
        self.clips.clip(index)
    }
}

/// A device stage that loses its device at a step.
struct Lost {
    feed: DeviceFeed,
    at: u64,
}

impl DeviceStage for Lost {
    type Buffer = PreparedBatch;
    type Batch = DeviceBatch<GptBatch>;

    fn process(
        &mut self,
        ticket: Ticket,
        filled: &PreparedBatch,
    ) -> Result<DeviceBatch<GptBatch>, String> {
        match ticket.step == self.at {
            true => Err("the device was lost".to_owned()),
            false => self.feed.process(ticket, filled),
        }
    }

    fn bytes(&self, batch: &DeviceBatch<GptBatch>) -> u64 {
        self.feed.bytes(batch)
    }
}

fn train_with<S, C>(
    clips: C,
    codes: Option<Arc<CodesCache>>,
    device_stage: impl Fn(&Device) -> Result<S, String> + Send + Sync + 'static,
) -> (Ended<GptObjective>, Seen)
where
    S: DeviceStage<Buffer = PreparedBatch, Batch = DeviceBatch<GptBatch>> + 'static,
    C: ClipSource + Send + Sync + 'static,
{
    let batches = schedule(4, 1);
    let host = HostFeed::new(stage(clips, CONDITIONING), batches.clone(), codes).unwrap();
    let largest = LargestBatch::of(&batches, CONDITIONING, &FrontEnd::XTTS.conditioning);
    let new = |device: &Device| state(gpt(device, 3, 0.0));
    run(
        &one(),
        host,
        largest,
        Arc::new(device_stage),
        new,
        &loop_config(STEPS, 1),
        gpt_targets(&batches),
        Seen::default(),
    )
}

fn undisturbed() -> Seen {
    train_gpt(&one(), &schedule(4, 1), &loop_config(STEPS, 1), 0.0).1
}

/// What was taken before the failure is a clean beginning of the run, and was
/// offered for a checkpoint.
fn assert_clean_beginning(seen: &Seen) {
    let taken = seen.steps.len();
    // Before the first step there is nothing to keep.
    let rescued = seen.rescued.unwrap_or(0);
    assert_eq!(rescued, taken as u64);
    assert_eq!(seen.losses(), undisturbed().losses()[..taken]);
}

/// How long each clip takes changes nothing, a slow disk or one slow clip.
#[test]
fn slow_recordings_lose_nothing() {
    let expected = undisturbed();
    let slow_disk = |_: ClipIndex| Duration::from_millis(5);
    let slow_clip = |index: ClipIndex| match index.0 {
        3 => Duration::from_millis(200),
        _ => Duration::from_millis(1),
    };
    let delays: [fn(ClipIndex) -> Duration; 2] = [slow_disk, slow_clip];
    for delay in delays {
        let slow = Troubled {
            clips: clips(),
            before: move |index| std::thread::sleep(delay(index)),
        };
        let device_stage = gpt_device_stage();
        let (ended, seen) = train_with(slow, None, move |device: &Device| device_stage(device));
        ended.unwrap();
        assert_eq!(seen.clips(), expected.clips());
        assert_eq!(seen.losses(), expected.losses());
    }
}

#[test]
fn a_panicking_worker_ends_the_training() {
    let bad = Troubled {
        clips: clips(),
        before: |index: ClipIndex| assert!(index.0 != 5, "a bad clip"),
    };
    let device_stage = gpt_device_stage();
    let (ended, seen) = train_with(bad, None, move |device: &Device| device_stage(device));
    insta::assert_snapshot!(ended.unwrap_err());
    assert_clean_beginning(&seen);
}

#[test]
fn a_lost_device_ends_the_training_at_its_step() {
    let begin = Instant::now();
    let (ended, seen) = train_with(clips(), None, |_: &Device| {
        Ok(Lost {
            feed: device(None, Arc::default()),
            at: 5,
        })
    });
    insta::assert_snapshot!(ended.unwrap_err());
    // No more are ready than the device's ring holds.
    assert!((1..=5).contains(&seen.steps.len()));
    assert_clean_beginning(&seen);
    assert!(begin.elapsed() < Duration::from_secs(60));
}

/// A disk that takes no more codes. A full one needs rights to make; this one
/// has lost the folder that entries are written in, and refuses at the same
/// place.
#[test]
fn codes_that_cannot_be_kept_end_the_training_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let cache = FeatureCache::open(folder.path()).unwrap();
    std::fs::remove_dir(folder.path().join("tmp")).unwrap();
    let codes = CodesCache::on_disk(WORLD.contents.clone(), source(3), cache);
    let codes = Arc::new(codes);
    let keeping = codes.clone();
    let (ended, seen) = train_with(clips(), Some(codes), move |_: &Device| {
        Ok(device(Some(keeping.clone()), Arc::default()))
    });
    let words = ended.unwrap_err().to_string();
    // The name of a temporary file is another every time.
    let (what, rest) = words.split_once(": No such file").unwrap();
    let (_, fix) = rest.split_once('\n').unwrap();
    let what = what.replace(&folder.path().display().to_string(), "FOLDER");
    insta::assert_snapshot!(format!("{what}\n{fix}"));
    assert_clean_beginning(&seen);
}

/// The others do not wait for it.
#[test]
fn a_replica_that_panics_ends_the_training() {
    let batches = schedule(4, 2);
    let host = HostFeed::new(stage(clips(), CONDITIONING), batches.clone(), None).unwrap();
    let largest = LargestBatch::of(&batches, CONDITIONING, &FrontEnd::XTTS.conditioning);
    let made = AtomicU64::new(0);
    let new = |device: &Device| {
        assert!(
            made.fetch_add(1, Ordering::Relaxed) == 0,
            "the second replica"
        );
        state(gpt(device, 3, 0.0))
    };
    let (ended, _) = run(
        &mirrored(),
        host,
        largest,
        gpt_device_stage(),
        new,
        &loop_config(STEPS, 1),
        gpt_targets(&batches),
        Seen::default(),
    );
    insta::assert_snapshot!(
        ended.unwrap_err(),
        @"a replica panicked; this is a defect of the program"
    );
}

/// Whoever asks during the warm-up does not wait for a step, and all replicas
/// leave after the same one.
#[test]
fn a_stop_is_heard_before_the_first_step_and_after_any_other() {
    for (placement, batches) in [(one(), schedule(4, 1)), (mirrored(), schedule(4, 2))] {
        for steps in [0, 3] {
            let seen = Seen {
                stop_after: Some(steps),
                ..Seen::default()
            };
            let (ended, seen) =
                train_gpt_until(&placement, &batches, &loop_config(STEPS, 1), 0.0, seen);
            let (state, _) = ended.unwrap();
            assert_eq!((seen.steps.len(), state.done), (steps, steps as u64));
            assert_eq!(seen.rescued, None);
        }
    }
}
