//! Every batch once, in order, whatever the wiring and the workers.

use myxtts_pipeline::*;

use crate::support::{Numbers, drain, jitter, setup, start, value};

fn expected(lanes: usize, first: u64, steps: u64) -> Vec<Vec<(u64, u64)>> {
    (0..lanes)
        .map(|lane| {
            (first..steps)
                .map(|step| (step, value(Ticket { step, lane }) + 1))
                .collect()
        })
        .collect()
}

#[test]
fn the_same_batches_for_any_workers_and_wiring() {
    for workers in [1, 2, 8] {
        for (lanes, shared, hop) in [
            (1, false, false),
            (1, true, true),
            (2, false, false),
            (2, true, true),
            (3, true, true),
        ] {
            let setup = setup(lanes, shared, workers, 60);
            let host = Numbers {
                before: jitter(),
                ..Numbers::default()
            };
            let (pipeline, mut ends) = start(&setup, host, hop);
            assert_eq!(
                drain(&mut ends).unwrap(),
                expected(lanes, 0, 60),
                "{setup:?}"
            );
            drop(ends);
            assert_eq!(pipeline.in_flight().0, 0);
            assert_eq!(pipeline.finish().failure, None);
        }
    }
}

#[test]
fn a_run_that_begins_later_sees_the_rest() {
    for first in [0, 1, 17, 59, 60] {
        let setup = Setup {
            first_step: first,
            ..setup(2, true, 3, 60)
        };
        let (pipeline, mut ends) = start(&setup, Numbers::default(), true);
        assert_eq!(drain(&mut ends).unwrap(), expected(2, first, 60));
        drop(pipeline);
    }
}

#[test]
fn the_start_says_what_it_waited_for() {
    use std::time::Duration;
    let mut reasons = vec![];
    for (target, longest, steps) in [(3, 5.0, 60), (3, 0.0, 60), (50, 5.0, 2)] {
        let setup = setup(1, false, 2, steps);
        let host = Numbers {
            before: jitter(),
            ..Numbers::default()
        };
        let (_pipeline, mut ends) = start(&setup, host, false);
        let started = ends[0]
            .wait_for_start(target, Duration::from_secs_f64(longest))
            .unwrap();
        reasons.push(started.reason);
    }
    assert_eq!(
        reasons,
        [
            StartReason::Filled,
            StartReason::Delay,
            StartReason::Complete
        ]
    );
}
