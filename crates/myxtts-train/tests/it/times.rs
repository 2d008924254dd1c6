//! What a training writes down about its time.

use std::path::Path;
use std::sync::Arc;

use burn::tensor::Device;
use myxtts_doctor::{Lang, diagnose, read_run};
use myxtts_run::metrics::{Line, read};
use myxtts_run::observer::Silent;
use myxtts_run::signals::StopRequest;
use myxtts_train::config::{StageWord, Stages};
use myxtts_train::placement::Placement;
use myxtts_train::probe::measure_telemetry;
use myxtts_train::session::run;
use serde_json::Value;

use crate::mini;
use crate::small_stage::{loop_config, mirrored, one, schedule, train_gpt};

fn of_stage(run: &Path, stage: &str) -> Vec<Line> {
    let lines = read(&run.join("metrics.jsonl")).unwrap();
    let is_of_it = |line: &Line| line.text("stage").as_deref() == Some(stage);
    lines.into_iter().filter(is_of_it).collect()
}

fn ledger(run: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(run.join("ledger.jsonl")).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    lines.collect()
}

/// What came before the first step, steps, pauses and what came after the last
/// are all the time there was, by the clock on the wall.
#[test]
fn the_parts_of_a_stage_are_all_its_time() {
    let folder = tempfile::tempdir().unwrap();
    let mut job = mini::job(folder.path());
    job.dataset.validation = Some(job.dataset.folder.clone());
    let keys = &mut job.config.training.run;
    (keys.validate_every, keys.checkpoint_every) = (7, 5);
    keys.max_steps = Some(40);
    run(
        &job,
        &Placement::on(&Device::flex()),
        StopRequest::new(),
        Arc::new(Silent),
    )
    .unwrap();
    for stage in ["dvae", "gpt"] {
        let lines = of_stage(&job.folder(), stage);
        let sum = |name: &str| lines.iter().filter_map(|line| line.f64(name)).sum::<f64>();
        let parts = [
            "start_s",
            "step_s",
            "validation_s",
            "checkpoint_s",
            "samples_s",
            "close_s",
        ];
        let of_parts: f64 = parts.iter().map(|part| sum(part)).sum();
        let (first, last) = (lines.first().unwrap(), lines.last().unwrap());
        let end = last.f64("wall_time").unwrap();
        let begin = first.f64("wall_time").unwrap()
            - first.f64("step_s").unwrap()
            - first.f64("start_s").unwrap();
        let wall = end - begin;
        assert!(last.f64("close_s").is_some(), "{last:?}");
        // Stamps are of milliseconds, and the machine may be busy.
        assert!(
            (of_parts - wall).abs() < 0.02 * wall + 0.005,
            "{stage}: {of_parts} s in parts, {wall} s on the wall"
        );
        for part in ["start_s", "step_s", "validation_s", "checkpoint_s"] {
            assert!(sum(part) > 0.0, "{stage}: {part}");
        }
        let steps = lines.iter().filter(|line| line.f64("loss").is_some());
        assert_eq!(steps.clone().count(), 40);
        for line in steps {
            let of = |name: &str| line.f64(name).unwrap_or_else(|| panic!("{name}: {line:?}"));
            assert!(of("step_s") > 0.0);
            assert!(
                of("data_wait_s") + of("read_back_s") <= of("step_s"),
                "{line:?}"
            );
            // The loss is read once; the first step waits for its moments, too.
            assert!((1.0..=2.0).contains(&of("syncs")), "{line:?}");
            assert_eq!((of("collective_s"), of("kernels_new")), (0.0, 0.0));
            assert_eq!(of("clips"), 2.0);
            assert!(of("audio_s") > 0.0 && (0.0..1.0).contains(&of("padding")));
            assert_eq!(line.list("replica_step_s"), None);
        }
    }
    let gpt = of_stage(&job.folder(), "gpt");
    assert!(
        gpt.iter()
            .filter(|line| line.f64("flop") > Some(0.0))
            .count()
            == 40
    );
}

/// The doctor looks while a run trains, says what it sees, and leaves what
/// somebody who reads the folder would find.
#[test]
fn the_verdict_is_said_and_kept() {
    let folder = tempfile::tempdir().unwrap();
    let mut job = mini::job(folder.path());
    let keys = &mut job.config.training.run;
    keys.stage = Stages::One(StageWord::Dvae);
    (keys.epochs, keys.max_steps) = (30, Some(90));
    run(
        &job,
        &Placement::on(&Device::flex()),
        StopRequest::new(),
        Arc::new(Silent),
    )
    .unwrap();
    let log = std::fs::read_to_string(job.folder().join("train.log")).unwrap();
    let said = |when: &str| {
        let line = log.lines().find(|line| line.contains(when));
        let line = line.unwrap_or_else(|| panic!("`{when}` is not in\n{log}"));
        assert!(line.contains("input-bound: "), "{line}");
        line.split_once(when).unwrap().1.to_owned()
    };
    said("Z after the warm-up: ");
    let last = said("Z verdict of stage dvae: ");
    let text = std::fs::read_to_string(job.folder().join("findings.json")).unwrap();
    let kept: Value = serde_json::from_str(&text).unwrap();
    let reading = read_run(&job.folder()).unwrap();
    let found = diagnose(&reading.signals);
    assert_eq!(
        (kept["at_step"].as_u64(), reading.at_step),
        (Some(90), Some(90))
    );
    let share = kept["verdict"]["waiting"].as_f64().unwrap();
    let waiting = found.verdict.waiting.known().unwrap().0;
    assert!((share - waiting).abs() < 1e-9, "{share} {waiting}");
    assert!(last.contains(&Lang::En.percent(share)), "{last}: {share}");
    assert!(kept["findings"].is_array() && kept["silent"].is_array());
    assert!(kept["wall_time"].as_f64().unwrap() > 1.7e9);
    // On the CPU there is no card to read.
    let looks = std::fs::read_to_string(job.folder().join("devices.jsonl")).unwrap();
    let look: Value = serde_json::from_str(looks.lines().last().unwrap()).unwrap();
    assert_eq!(look["devices"], serde_json::json!([]));
    assert!(look["host"]["memory_mb"].as_f64() > Some(0.0), "{look}");
}

/// Epochs in turn recorded and not, of one training.
#[test]
fn the_cost_of_recording_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    let job = mini::job(folder.path());
    let placement = Placement::on(&Device::flex());
    let figures = measure_telemetry(&job, &placement, 3, Arc::new(Silent)).unwrap();
    assert_eq!((figures.pairs, figures.steps), (3, 4));
    assert!(figures.with_s > 0.0 && figures.without_s > 0.0);
    assert!((0.0..100.0).contains(&figures.thread_pct), "{figures:?}");
    let [low, high] = figures.quartiles_pct;
    assert!(low <= figures.cost_pct && figures.cost_pct <= high);
}

/// Files of figures in whose place a folder stands: the run trains, and says
/// what it does without.
#[test]
fn figures_that_cannot_be_written_do_not_end_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let job = mini::job(folder.path());
    std::fs::create_dir_all(job.folder().join("devices.jsonl")).unwrap();
    std::fs::create_dir_all(job.folder().join("findings.json/taken")).unwrap();
    std::fs::write(job.folder().join("run.lock"), "").unwrap();
    let finished = run(
        &job,
        &Placement::on(&Device::flex()),
        StopRequest::new(),
        Arc::new(Silent),
    );
    assert_eq!(finished.unwrap().steps, 4);
    let log = std::fs::read_to_string(job.folder().join("train.log")).unwrap();
    for words in [
        "devices are not read while this run trains: cannot open",
        "the doctor looks no more at this run: ",
    ] {
        assert_eq!(log.matches(words).count(), 1, "{words}\n{log}");
    }
}

/// Where the time of reading, decoding and uploading went, inside that of its
/// stage; and which stage of the training a line is of.
#[test]
fn the_ledger_knows_the_parts_of_the_work() {
    let folder = tempfile::tempdir().unwrap();
    let job = mini::job(folder.path());
    run(
        &job,
        &Placement::on(&Device::flex()),
        StopRequest::new(),
        Arc::new(Silent),
    )
    .unwrap();
    let entries = ledger(&job.folder());
    let us = |entry: &Value, name: &str| entry[name].as_u64();
    for entry in &entries {
        let busy = us(entry, "busy_us").unwrap();
        let parts = ["read_us", "decode_us", "upload_us"].map(|name| us(entry, name));
        let expected = match entry["stage"].as_str().unwrap() {
            "host" => [true, true, false],
            "device" => [false, false, true],
            _ => [false; 3],
        };
        assert_eq!(parts.map(|part| part.is_some()), expected, "{entry}");
        let sum: u64 = parts.iter().flatten().sum();
        assert!(sum <= busy + 1, "{entry}");
    }
    let read: u64 = entries
        .iter()
        .filter_map(|entry| us(entry, "read_us"))
        .sum();
    let decode: u64 = entries
        .iter()
        .filter_map(|entry| us(entry, "decode_us"))
        .sum();
    assert!(read > 0 && decode > 0);
    for trains in ["dvae", "gpt"] {
        let of_it = entries.iter().filter(|entry| entry["trains"] == trains);
        let models = of_it.filter(|entry| entry["stage"] == "model");
        assert_eq!(models.count(), 2, "{trains}");
    }
}

/// Replicas say together what a step held, and each how long it worked.
#[test]
fn replicas_come_together() {
    let (_, alone) = train_gpt(&one(), &schedule(4, 1), &loop_config(3, 1), 0.0);
    let (_, both) = train_gpt(&mirrored(), &schedule(2, 2), &loop_config(3, 1), 0.0);
    for (alone, both) in alone.steps.iter().zip(&both.steps) {
        assert_eq!(both.totals.clips, 4);
        assert_eq!(
            (both.totals.audio, both.totals.used, both.totals.padded),
            (alone.totals.audio, alone.totals.used, alone.totals.padded)
        );
        assert!(alone.totals.worked.is_empty());
        assert_eq!(both.totals.worked.len(), 2);
        assert!(both.totals.worked.iter().all(|worked| !worked.is_zero()));
        assert!(alone.waits.collective.is_zero() && !both.waits.collective.is_zero());
        assert!(both.waits.syncs > alone.waits.syncs);
    }
}
