//! Figures, and the words for them.

use myxtts_pipeline::PipelineStage;
use myxtts_profile::{Profile, StepTime};

use crate::entries::machine;

fn step(wall_ms: f64, wait_ms: f64) -> StepTime {
    StepTime {
        wall_s: wall_ms / 1e3,
        data_wait_s: wait_ms / 1e3,
        read_back_s: Some(wall_ms / 1e4),
        collective_s: None,
        work: 1.0,
    }
}

/// A slow host of 10 ms before a device of 2 ms and a model of 6 ms.
fn waiting() -> Profile {
    let entries = machine(40, [10_000, 2_000, 6_000], 3);
    Profile::of(&entries, 10, 1, &vec![step(10.0, 4.0); 30], 0.3)
}

/// A model of 20 ms that everything else is ahead of.
fn fed() -> Profile {
    let entries = machine(40, [3_000, 4_000, 20_000], 3);
    Profile::of(&entries, 10, 1, &vec![step(20.0, 0.0); 30], 0.6)
}

#[test]
fn a_model_that_waits_is_reported_so() {
    let profile = waiting();
    assert_eq!(profile.slowest, Some(PipelineStage::Host));
    insta::assert_snapshot!(profile.to_string());
}

#[test]
fn a_model_that_is_fed_is_reported_so() {
    let profile = fed();
    assert_eq!(profile.slowest, Some(PipelineStage::Model));
    assert!(profile.overlap.achieved_pct.unwrap() > 99.0);
    insta::assert_snapshot!(profile.to_string());
}

#[test]
fn the_document_has_the_same_figures() {
    insta::assert_snapshot!(serde_json::to_string_pretty(&waiting()).unwrap());
}

/// The sums over threads are the wall time, whatever the stages take.
#[test]
fn every_thread_is_accounted_for() {
    for times in [[1, 1, 1], [9, 1, 1], [1, 9, 1], [1, 1, 9], [5, 4, 5]] {
        let entries = machine(50, times.map(|ms| ms * 1000), 2);
        let slowest = times.iter().max().unwrap() * 40;
        let wall = slowest as f64 / 1e3;
        let profile = Profile::of(&entries, 10, 1, &[], wall);
        assert!((profile.accounted_pct - 100.0).abs() < 2.0, "{profile}");
        for stage in &profile.stages {
            let sum = stage.busy_s + stage.wait_in_s + stage.wait_out_s + stage.idle_s;
            let window = profile.window().seconds() * stage.threads as f64;
            assert!((sum - window).abs() < 1e-9, "{stage:?}");
        }
    }
}

/// Nothing overlaps where a ring has no room and stages wait for one another
/// in turn; everything does where each is ahead of the next.
#[test]
fn overlap_lies_between_one_after_another_and_the_slowest() {
    let entries = machine(60, [5_000, 5_000, 5_000], 4);
    let overlap = Profile::of(&entries, 20, 1, &[], 0.2).overlap;
    assert!((overlap.one_after_another_s - 0.015).abs() < 1e-9);
    assert!((overlap.at_best_s - 0.005).abs() < 1e-9);
    assert_eq!(overlap.achieved_pct.map(f64::round), Some(100.0));

    // The same batches, each begun when the one before is done.
    let mut alone = machine(1, [5_000, 5_000, 5_000], 4);
    let first = alone.clone();
    for step in 1..40 {
        alone.extend(first.iter().map(|entry| myxtts_pipeline::Entry {
            step,
            at_us: entry.at_us + step * 15_000,
            ..*entry
        }));
    }
    let overlap = Profile::of(&alone, 10, 1, &[], 0.45).overlap;
    // The first batch that counts began before the window.
    assert!(overlap.achieved_pct.unwrap() < 5.0, "{overlap:?}");
}

#[test]
fn an_empty_ledger_is_a_report_of_nothing() {
    let profile = Profile::of(&[], 0, 1, &[], 0.0);
    assert_eq!((profile.steps, profile.slowest), (0, None));
    insta::assert_snapshot!(profile.to_string());
}

/// A pause every fifth step is found with its period; batches that hold more
/// than others are not taken for one.
#[test]
fn a_period_is_found_and_work_is_not_one() {
    let entries = machine(40, [1_000, 1_000, 10_000], 3);
    let paused = |index: usize| StepTime {
        work: 1.0,
        ..step(if index.is_multiple_of(5) { 40.0 } else { 10.0 }, 0.0)
    };
    let steps: Vec<StepTime> = (0..30).map(paused).collect();
    let oscillation = Profile::of(&entries, 10, 1, &steps, 0.3).oscillation;
    let oscillation = oscillation.unwrap();
    assert_eq!(oscillation.period.map(|period| period % 5), Some(0));
    insta::assert_snapshot!(oscillation.to_string());

    let longer = |index: usize| StepTime {
        work: if index.is_multiple_of(5) { 4.0 } else { 1.0 },
        ..paused(index)
    };
    let steps: Vec<StepTime> = (0..30).map(longer).collect();
    let oscillation = Profile::of(&entries, 10, 1, &steps, 0.3).oscillation;
    let oscillation = oscillation.unwrap();
    assert!(oscillation.unexplained < 0.01, "{oscillation:?}");
    assert!(oscillation.variation > 0.5, "{oscillation:?}");
}
