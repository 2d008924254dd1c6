//! Every batch once, in order, whatever the wiring and the workers.

use myxtts_pipeline::*;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::support::{Numbers, drain, jitter, setup, start, start_with, value};

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

/// The delay is for data: time in which none could arrive does not count.
#[test]
fn the_start_delay_begins_when_it_is_waited_for() {
    let slow = Numbers {
        before: Arc::new(|_| {
            std::thread::sleep(Duration::from_millis(150));
            Ok(())
        }),
        ..Numbers::default()
    };
    let (_pipeline, mut ends) = start(&setup(1, false, 1, 60), slow, false);
    // Longer than the delay, as kernels are that take minutes to compile.
    std::thread::sleep(Duration::from_millis(400));
    let begun = ends[0].wait_for_start(50, Duration::from_millis(300));
    let begun = begun.unwrap();
    assert_eq!(begun.reason, StartReason::Delay);
    assert!(begun.waited >= Duration::from_millis(300), "{begun:?}");
    assert!(begun.waited < Duration::from_millis(400), "{begun:?}");
}

/// Without prefetch a device batch is made for the step that asks for it.
#[test]
fn nothing_is_made_on_the_device_before_it_is_asked_for() {
    for (lanes, shared, hop) in [
        (1, false, false),
        (1, true, true),
        (2, false, false),
        (2, true, true),
    ] {
        let knobs = Knobs {
            ring_depth: 0,
            ..setup(lanes, shared, 2, 20).knobs
        };
        let setup = Setup {
            knobs,
            bounds: Bounds {
                least: knobs,
                most: knobs,
            },
            ..setup(lanes, shared, 2, 20)
        };
        let made = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&made);
        let device = move |_: Ticket| {
            count.fetch_add(1, Ordering::SeqCst);
            Ok(())
        };
        let (pipeline, mut ends) = start_with(&setup, Numbers::default(), hop, Arc::new(device));
        for step in 0..20 {
            for (lane, end) in ends.iter_mut().enumerate() {
                std::thread::sleep(Duration::from_millis(2));
                let asked = step * lanes as u64 + lane as u64;
                assert_eq!(made.load(Ordering::SeqCst), asked, "{setup:?}");
                let delivered = end.next().unwrap().unwrap();
                assert_eq!((delivered.step, delivered.batch), {
                    (step, value(Ticket { step, lane }) + 1)
                });
            }
        }
        drop(ends);
        assert_eq!(pipeline.finish().failure, None);
    }
}

/// A step may have more batches than there are places: it gives each one's
/// place back as it uses it up.
#[test]
fn steps_of_more_batches_than_may_be_in_flight() {
    for (lanes, shared, hop) in [(1, false, false), (2, false, false), (3, true, true)] {
        for accumulation in [9, 17, 51, 256] {
            let setup = setup(lanes, shared, 2, 2 * accumulation);
            let (pipeline, ends) = start(&setup, Numbers::default(), hop);
            let taken: Vec<u64> = std::thread::scope(|scope| {
                let lanes: Vec<_> = ends
                    .into_iter()
                    .map(|mut lane| {
                        scope.spawn(move || {
                            let mut taken = 0;
                            while let Some(delivered) = lane.next().unwrap() {
                                taken += u64::from(delivered.into_batch() > 0);
                            }
                            taken
                        })
                    })
                    .collect();
                lanes.into_iter().map(|lane| lane.join().unwrap()).collect()
            });
            assert_eq!(taken, vec![2 * accumulation; lanes]);
            assert!(pipeline.in_flight().1 <= setup.knobs.in_flight);
            assert_eq!(pipeline.finish().failure, None);
        }
    }
}

/// A batch that is there is not waited for, however long the system takes to
/// hand it over.
#[test]
fn a_ready_batch_is_no_wait() {
    let (_pipeline, mut ends) = start(&setup(1, false, 2, 60), Numbers::default(), false);
    for _ in 0..10 {
        let begun = ends[0].wait_for_start(2, Duration::from_secs(10)).unwrap();
        assert_eq!(begun.reason, StartReason::Filled);
        let delivered = ends[0].next().unwrap().unwrap();
        assert_eq!(delivered.waited, Duration::ZERO);
    }
}
