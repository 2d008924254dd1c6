//! Whoever asks a training to stop is heard in every wait, and nothing that was
//! learnt is lost.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use burn::tensor::Device;
use myxtts_data::host_stage::{Clip, ClipSource, ClipView, HostFeed};
use myxtts_data::schedule::{ClipIndex, Schedule};
use myxtts_run::metrics::MEASURED;
use myxtts_run::observer::Silent;
use myxtts_run::signals::{StopRequest, StopSignal};
use myxtts_train::feed::{DeviceFeed, FrontEnd, LargestBatch};
use myxtts_train::objective::GptObjective;
use myxtts_train::placement::Placement;
use myxtts_train::session::{Finished, TrainRequest, run};

use crate::mini;
use crate::small_stage::{
    Ended, Seen, clips, gpt, gpt_device_stage, gpt_targets, loop_config, mirrored, one,
    run as run_stage, schedule, split, state,
};
use crate::world::{CONDITIONING, device, stage};

/// Within a second, and what a busy machine adds.
const SOON: Duration = Duration::from_secs(3);

/// Clips of which one, from some moment on, is on a disk that does not answer.
struct Stuck {
    clips: Arc<[Clip]>,
    /// Reads that are answered.
    answered: std::sync::atomic::AtomicU64,
    is_stuck: Arc<AtomicBool>,
}

impl ClipSource for Stuck {
    fn clip(&self, index: ClipIndex) -> Option<ClipView<'_>> {
        if self.answered.fetch_sub(1, Ordering::SeqCst) == 0 {
            self.is_stuck.store(true, Ordering::SeqCst);
            // Far longer than anybody here waits; the thread is left behind.
            std::thread::sleep(Duration::from_secs(600));
        }
        self.clips.clip(index)
    }
}

/// Asks to stop once `is_time`, and says how long the end took from then on.
fn asked_when<R>(
    stop: &StopRequest,
    is_time: impl Fn() -> bool + Send,
    work: impl FnOnce() -> R,
) -> (R, Duration) {
    std::thread::scope(|scope| {
        let asking = scope.spawn(move || {
            while !is_time() {
                std::thread::sleep(Duration::from_millis(1));
            }
            stop.ask(StopSignal::Terminate);
            Instant::now()
        });
        let result = work();
        let end = Instant::now();
        (result, end - asking.join().unwrap())
    })
}

fn train_on<C: ClipSource + Send + Sync + 'static>(
    placement: &Placement,
    batches: &Arc<Schedule>,
    clips: C,
    seen: Seen,
) -> (Ended<GptObjective>, Seen) {
    let host = HostFeed::new(stage(clips, CONDITIONING), batches.clone(), None).unwrap();
    let largest = LargestBatch::of(batches, CONDITIONING, &FrontEnd::XTTS.conditioning);
    let new = |device: &Device| state(gpt(device, 3, 0.0));
    run_stage(
        placement,
        host,
        largest,
        gpt_device_stage(),
        new,
        &loop_config(8, 2),
        gpt_targets(batches),
        seen,
    )
}

/// A recording that cannot be read holds up the workers, the rings, the model,
/// and where there are two models the one that waits for the other.
#[test]
fn a_disk_that_does_not_answer_does_not_hold_up_a_stop() {
    for (placement, batches) in [
        (one(), schedule(2, 1)),
        (split(), schedule(2, 1)),
        (mirrored(), schedule(2, 2)),
    ] {
        let is_stuck = Arc::new(AtomicBool::new(false));
        let stuck = Stuck {
            clips: clips(),
            answered: 22.into(),
            is_stuck: is_stuck.clone(),
        };
        let seen = Seen::default();
        let stop = seen.stop.clone();
        let since = Instant::now();
        let is_waiting =
            move || is_stuck.load(Ordering::SeqCst) && since.elapsed() > Duration::from_secs(2);
        let ((ended, seen), took) = asked_when(&stop, is_waiting, || {
            train_on(&placement, &batches, stuck, seen)
        });
        let (state, _) = ended.unwrap();
        assert_eq!(state.done, seen.steps.len() as u64);
        assert_eq!(seen.rescued, None, "an orderly end");
        assert!(took < SOON, "{took:?}");
    }
}

/// Kernels that are being compiled hold up nobody either.
#[test]
fn devices_that_are_not_ready_do_not_hold_up_a_stop() {
    let batches = schedule(2, 1);
    let host = HostFeed::new(stage(clips(), CONDITIONING), batches.clone(), None).unwrap();
    let largest = LargestBatch::of(&batches, CONDITIONING, &FrontEnd::XTTS.conditioning);
    let new = |device: &Device| state(gpt(device, 3, 0.0));
    let device_stage = Arc::new(|_: &Device| -> Result<DeviceFeed, String> {
        std::thread::sleep(Duration::from_secs(600));
        Ok(device(None, Arc::default()))
    });
    let seen = Seen::default();
    let stop = seen.stop.clone();
    let since = Instant::now();
    let a_while = move || since.elapsed() > Duration::from_millis(500);
    let ((ended, seen), took) = asked_when(&stop, a_while, || {
        let targets = gpt_targets(&batches);
        run_stage(
            &one(),
            host,
            largest,
            device_stage,
            new,
            &loop_config(8, 1),
            targets,
            seen,
        )
    });
    assert_eq!((ended.unwrap().0.done, seen.steps.len()), (0, 0));
    assert!(took < SOON, "{took:?}");
}

/// A step of many batches is given up between two of them, not finished.
#[test]
fn a_step_of_many_batches_does_not_hold_up_a_stop() {
    let seen = Seen::default();
    let stop = seen.stop.clone();
    let since = Instant::now();
    let a_while = move || since.elapsed() > Duration::from_millis(700);
    let batches = schedule(1, 1);
    let host = HostFeed::new(stage(clips(), CONDITIONING), batches.clone(), None).unwrap();
    let largest = LargestBatch::of(&batches, CONDITIONING, &FrontEnd::XTTS.conditioning);
    let new = |device: &Device| state(gpt(device, 3, 0.0));
    let ((ended, seen), took) = asked_when(&stop, a_while, || {
        run_stage(
            &one(),
            host,
            largest,
            gpt_device_stage(),
            new,
            &loop_config(1, 100_000),
            gpt_targets(&batches),
            seen,
        )
    });
    assert_eq!((ended.unwrap().0.done, seen.steps.len()), (0, 0));
    assert!(took < SOON, "{took:?}");
}

fn train(job: &TrainRequest, stop: &StopRequest) -> Finished {
    let here = Placement::on(&Device::flex());
    run(job, &here, stop.clone(), Arc::new(Silent)).unwrap()
}

/// Lines of `metrics.jsonl` without what was measured, and none that hold nothing
/// else: a stop and a resumption are pauses, too.
fn numbers(run: &Path) -> Vec<serde_json::Value> {
    let text = std::fs::read_to_string(run.join("metrics.jsonl")).unwrap_or_default();
    let line = |line: &str| {
        let mut record: serde_json::Value = serde_json::from_str(line).ok()?;
        let fields = record.as_object_mut()?;
        fields.retain(|name, _| !MEASURED.contains(&name.as_str()));
        (fields.len() > 2).then_some(record)
    };
    text.lines().filter_map(line).collect()
}

fn validating(folder: &Path) -> TrainRequest {
    let mut job = mini::job(folder);
    job.dataset.validation = Some(job.dataset.folder.clone());
    job.config.training.run.validate_every = 1;
    job.config.training.run.max_steps = Some(4);
    job.plan.batch_size = 1;
    job
}

/// A validation that a stop interrupts is made when the run is resumed, so
/// that it has the numbers of a run that nobody stopped.
#[test]
fn a_stop_in_a_validation_loses_no_number() {
    let folder = tempfile::tempdir().unwrap();
    let undisturbed = validating(folder.path());
    train(&undisturbed, &StopRequest::new());
    let expected = numbers(&undisturbed.folder());
    assert!(
        expected
            .iter()
            .any(|line| line.get("val_loss_mel").is_some())
    );
    let mut was_owed = false;
    for round in 0..40 {
        let run = folder.path().join(format!("stopped_{round}"));
        let job = mini::kept_in(&run, &undisturbed);
        let stop = StopRequest::new();
        let run = job.folder();
        // The line of a step is written before its validation.
        let is_validating = move || {
            let lines = numbers(&run);
            lines
                .iter()
                .any(|line| line["stage"] == "gpt" && line.get("loss").is_some())
        };
        let (finished, _) = asked_when(&stop, is_validating, || train(&job, &stop));
        assert_eq!(finished.stopped, Some(StopSignal::Terminate));
        let log = std::fs::read_to_string(job.folder().join("train.log")).unwrap();
        assert!(
            log.contains("SIGTERM: stopping after the last whole step"),
            "{log}"
        );
        assert!(log.contains(&finished.words()), "{log}");
        was_owed |= owes(&job.folder());
        let finished = train(&job, &StopRequest::new());
        assert_eq!((finished.stopped, finished.steps), (None, 8));
        assert_eq!(numbers(&job.folder()), expected);
        assert!(!owes(&job.folder()));
        if was_owed {
            break;
        }
    }
    assert!(was_owed, "no stop came in a validation");
}

/// Whether the newest checkpoint leaves something to do.
fn owes(run: &Path) -> bool {
    let mut steps: Vec<_> = std::fs::read_dir(run.join("checkpoints"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.join("manifest.json").exists())
        .collect();
    steps.sort();
    let manifest = std::fs::read_to_string(steps.last().unwrap().join("manifest.json")).unwrap();
    manifest.contains("\"owed\"")
}

/// The log has what the terminal shows: the plan, the steps of the whole run
/// whatever the stage, and the end.
#[test]
fn the_log_tells_the_whole_run() {
    let folder = tempfile::tempdir().unwrap();
    let job = mini::job(folder.path());
    let finished = train(&job, &StopRequest::new());
    let log = std::fs::read_to_string(job.folder().join("train.log")).unwrap();
    let plan = job.plan.to_string();
    for words in [
        plan.lines().next().unwrap(),
        "step 1/4 (dvae 1/2, stage 1 of 2)",
        "step 2/4 (dvae 2/2, stage 1 of 2)",
        "step 3/4 (gpt 1/2, stage 2 of 2)",
        "step 4/4 (gpt 2/2, stage 2 of 2)",
        "  ETA about ",
        "compute is not shown in the dvae stage",
        &finished.words(),
    ] {
        assert!(log.contains(words), "`{words}` is not in\n{log}");
    }
    assert!(!log.contains("unavailable"), "{log}");
}
