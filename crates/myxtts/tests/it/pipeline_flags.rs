//! What buffers, prefetch, accumulation and warm-up do, seen in the files of a
//! training and not in what it says it will do.

use std::path::Path;

use serde_json::Value;

use crate::support::{few_clips, run_in};

/// Trains the DVAE on a few clips for some steps; its log, and a file of it.
fn train(folder: &Path, steps: &str, flags: &[&str]) -> String {
    few_clips(&folder.join("clips"), 8);
    let short = [
        "train",
        "--train-data",
        "clips",
        "--stage",
        "dvae",
        // What is looked at is the order of batches, which small ones have too.
        "--batch-size",
        "2",
        "--checkpoint-dir",
        "run",
        "--set",
        "training.sample_count=0",
        "--max-steps",
        steps,
    ];
    let run = run_in(folder, &[&short, flags].concat(), &[]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    run.stderr
}

fn lines(folder: &Path, file: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(folder.join("run").join(file)).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    lines.collect()
}

/// Sixteen batches a step, four places: such a training took no step at all.
#[test]
fn a_step_of_more_batches_than_the_buffer_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    let flags = ["--grad-accum", "16", "--buffer-size", "4", "--epochs", "99"];
    let said = train(folder.path(), "2", &flags);
    assert!(said.contains("Buffer size: 4 batches in flight"), "{said}");
    assert_eq!(
        lines(folder.path(), "metrics.jsonl")
            .iter()
            .filter(|line| line["loss"].is_number())
            .count(),
        2
    );
    let log = std::fs::read_to_string(folder.path().join("run/train.log")).unwrap();
    for words in [
        "Buffer size: 4 batches in flight",
        "step 1/2 ",
        "step 2/2 ",
        "done: 2 steps",
    ] {
        assert!(log.contains(words), "`{words}` is not in\n{log}");
    }
}

/// The device stage makes a batch when the step before has ended, and not
/// earlier; with prefetch it is ahead.
#[test]
fn without_prefetch_a_batch_is_made_when_it_is_asked_for() {
    let is_ahead = |flags: &[&str]| {
        let folder = tempfile::tempdir().unwrap();
        train(folder.path(), "6", flags);
        let ledger = lines(folder.path(), "ledger.jsonl");
        let number = |entry: &Value, name: &str| entry[name].as_u64().unwrap();
        let of = |stage: &str, step: u64| {
            let mine = ledger
                .iter()
                .find(|entry| entry["stage"] == stage && number(entry, "step") == step);
            mine.unwrap().clone()
        };
        (1..6).any(|step| {
            let device = of("device", step);
            let ended = number(&device, "at_us");
            // The work is at the end of an entry, but for a wait for room.
            let begun = ended - number(&device, "busy_us");
            // Entries are rounded down to microseconds.
            begun + 100 < number(&of("model", step - 1), "at_us")
        })
    };
    assert!(!is_ahead(&["--no-prefetch-to-gpu"]));
    assert!(is_ahead(&["--prefetch-to-gpu"]));
}

/// The most batches that were anywhere between the host's first look at them
/// and the end of their step, at one time.
fn most_in_flight(ledger: &[Value]) -> usize {
    let number = |entry: &Value, name: &str| entry[name].as_u64().unwrap();
    let of = |stage: &'static str| ledger.iter().filter(move |entry| entry["stage"] == stage);
    let begun: Vec<u64> = of("host")
        .map(|entry| {
            let spent = number(entry, "busy_us") + number(entry, "wait_out_us");
            number(entry, "at_us").saturating_sub(spent)
        })
        .collect();
    let ended: Vec<u64> = of("model").map(|entry| number(entry, "at_us")).collect();
    let in_flight = |moment: u64| {
        let before = |times: &[u64]| times.iter().filter(|time| **time <= moment).count();
        // Entries are rounded down to microseconds.
        before(&begun).saturating_sub(before(&ended))
    };
    begun.iter().map(|moment| in_flight(*moment)).max().unwrap()
}

/// `--buffer-size`: the data side is faster than the steps here, so that it is
/// held back by the places there are.
#[test]
fn no_more_batches_are_in_flight_than_the_buffer_has_places() {
    let most = |places: &str| {
        let folder = tempfile::tempdir().unwrap();
        let flags = ["--buffer-size", places, "--epochs", "99"];
        train(folder.path(), "14", &flags);
        most_in_flight(&lines(folder.path(), "ledger.jsonl"))
    };
    // Besides those with a place there is the one that a step works with.
    assert_eq!([most("2"), most("9")], [2 + 1, 9 + 1]);
}

/// `--prefetch-buffer-size`: how many batches ever waited on the device.
#[test]
fn the_device_ring_is_as_deep_as_asked_for() {
    let deepest = |places: &str| {
        let folder = tempfile::tempdir().unwrap();
        let flags = ["--prefetch-buffer-size", places, "--epochs", "99"];
        train(folder.path(), "14", &flags);
        let ledger = lines(folder.path(), "ledger.jsonl");
        let device = ledger.iter().filter(|entry| entry["stage"] == "device");
        device.filter_map(|entry| entry["occupancy"].as_u64()).max()
    };
    assert_eq!([deepest("1"), deepest("5")], [Some(1), Some(5)]);
}

/// A rise that somebody chose is as long as they said, in a short stage too;
/// one that nobody chose is shortened, and that is said.
#[test]
fn a_chosen_warm_up_is_kept() {
    let rates = |flags: &[&str]| {
        let folder = tempfile::tempdir().unwrap();
        let said = train(folder.path(), "12", flags);
        let steps = lines(folder.path(), "metrics.jsonl").into_iter();
        let rates = steps.filter_map(|line| line["learning_rate"].as_f64());
        (rates.collect::<Vec<f64>>(), said)
    };
    let (chosen, said) = rates(&["--set", "training.warmup_steps=8"]);
    assert!(
        chosen[..8].windows(2).all(|pair| pair[0] < pair[1]),
        "{chosen:?}"
    );
    assert!(
        said.contains("the learning rate rises over the first 8"),
        "{said}"
    );
    let (preset, said) = rates(&[]);
    assert!(preset[1] > chosen[6], "{preset:?}");
    assert!(
        said.contains("rises over the first 1, a tenth of the stage"),
        "{said}"
    );
}
