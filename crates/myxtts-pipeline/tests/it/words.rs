//! What a person reads.

use std::time::Duration;

use myxtts_pipeline::*;

use crate::support::{AddOne, Carry, Numbers, drain, setup};

#[test]
fn setups_that_cannot_run() {
    let good = setup(2, true, 1, 10);
    let tight = Setup {
        knobs: Knobs {
            in_flight: 3,
            ..good.knobs
        },
        ..good
    };
    let small = Setup {
        host_ring: RingBounds {
            batches: 2,
            bytes: 5,
            largest: 9,
        },
        ..good
    };
    let words = |setup: &Setup, device_stages: usize| {
        let device_stages: Vec<Make<AddOne>> = (0..device_stages)
            .map(|_| -> Make<AddOne> { Box::new(|| Err(String::new())) })
            .collect();
        let hops: Vec<Make<Carry>> = vec![];
        Pipeline::start(
            setup,
            Numbers::default(),
            device_stages,
            hops,
            Ledger::in_memory(),
        )
        .map(|_| ())
        .unwrap_err()
        .to_string()
    };
    insta::assert_snapshot!(words(&tight, 1), @r"
    a buffer of 3 batches cannot feed 2 model devices: each needs 2 in flight, one in use and one ready
      fix:   set --buffer-size to at least 4
    ");
    insta::assert_snapshot!(words(&small, 1), @r"
    the host ring may hold 5 bytes and the largest batch takes 9
      fix:   lower --batch-size, or raise the memory budget
    ");
    insta::assert_snapshot!(words(&good, 2), @"the wiring has 1 data devices and 2 were given");
}

#[test]
fn starts() {
    let start = |reason, held| Start {
        reason,
        held,
        target: 8,
        waited: Duration::from_millis(420),
        longest: Duration::from_millis(400),
    };
    insta::assert_snapshot!(start(StartReason::Filled, 8), @"the buffer reached its fill target after 0.42 s (8 of 8 batches ready)");
    insta::assert_snapshot!(start(StartReason::Delay, 5), @"model_start_delay of 0.40 s passed with 5 of 8 batches ready");
    insta::assert_snapshot!(start(StartReason::Complete, 3), @"all 3 batches of the run were ready after 0.42 s (fill target 8)");
    let nothing = Start {
        target: 0,
        ..start(StartReason::Filled, 0)
    };
    insta::assert_snapshot!(nothing, @"nothing is prefetched: a batch goes to the device when a step asks for it");
}

/// The ledger has a line per batch and stage, and its sums are those of the summary.
#[test]
fn the_ledger_adds_up() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    let setup = setup(1, false, 2, 25);
    let device_stages: Vec<Make<AddOne>> =
        vec![Box::new(|| Ok(AddOne(std::sync::Arc::new(|_| Ok(())))))];
    let hops: Vec<Make<Carry>> = vec![];
    let ledger = Ledger::written(std::fs::File::create(&path).unwrap());
    let host = Numbers {
        before: crate::support::jitter(),
        ..Numbers::default()
    };
    let (pipeline, mut ends) = Pipeline::start(&setup, host, device_stages, hops, ledger).unwrap();
    drain(&mut ends).unwrap();
    drop(ends);
    let outcome = pipeline.finish();
    let text = std::fs::read_to_string(&path).unwrap();
    let entries: Vec<serde_json::Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    for stage in &outcome.summary.stages {
        let mine = entries
            .iter()
            .filter(|entry| entry["stage"] == stage.stage.to_string());
        let busy: u64 = mine
            .clone()
            .map(|entry| entry["busy_us"].as_u64().unwrap())
            .sum();
        assert_eq!(mine.count(), 25);
        assert_eq!(stage.batches, 25);
        assert!((stage.busy_s - busy as f64 / 1e6).abs() < 1e-9);
    }
    assert_eq!(outcome.summary.stages.len(), 3);
    assert!(
        outcome
            .summary
            .rings
            .iter()
            .all(|ring| (0.0..=100.0).contains(&ring.readiness_pct))
    );
}
