//! Smart prefetch turns one knob at a time, within its bounds, with a reason.

use myxtts_pipeline::*;

const NOW: Knobs = Knobs {
    workers: 2,
    in_flight: 8,
    ring_depth: 2,
};
const BOUNDS: Bounds = Bounds {
    least: Knobs {
        workers: 1,
        in_flight: 4,
        ring_depth: 2,
    },
    most: Knobs {
        workers: 4,
        in_flight: 50,
        ring_depth: 16,
    },
};

fn change(window: WaitShares) -> String {
    decide(&window, NOW, &BOUNDS).map_or("nothing".to_owned(), |(_, change)| change.to_string())
}

#[test]
fn each_cause_has_its_change() {
    let host_bound = WaitShares {
        steps: 50,
        model_wait: 0.2,
        device_wait: 0.6,
        device_busy: 0.1,
        ..WaitShares::default()
    };
    insta::assert_snapshot!(change(host_bound), @"workers: 2 -> 3 (the model waited 20.0 % of the time and no worker was idle)");
    let no_place = WaitShares {
        host_wait: 0.4,
        ..host_bound
    };
    insta::assert_snapshot!(change(no_place), @"read_ahead: 8 -> 16 (the model waited 20.0 % of the time and workers waited for a place)");
    let bursts = WaitShares {
        steps: 50,
        model_wait: 0.02,
        device_busy: 0.5,
        longest_wait: 2.5,
        ..WaitShares::default()
    };
    insta::assert_snapshot!(change(bursts), @"depth: 2 -> 4 (single waits of up to 2.5 steps: a deeper ring rides them out)");
    let idle = WaitShares {
        steps: 50,
        host_wait: 0.9,
        ..WaitShares::default()
    };
    insta::assert_snapshot!(change(idle), @"workers: 2 -> 1 (workers had nothing to do 90 % of the time)");
    insta::assert_snapshot!(change(WaitShares { steps: 50, ..WaitShares::default() }), @"nothing");
    insta::assert_snapshot!(change(WaitShares { steps: 3, ..host_bound }), @"nothing");
}

#[test]
fn the_bounds_are_never_left() {
    let host_bound = WaitShares {
        steps: 50,
        model_wait: 0.5,
        device_wait: 0.9,
        ..WaitShares::default()
    };
    let idle = WaitShares {
        steps: 50,
        host_wait: 0.95,
        ..WaitShares::default()
    };
    for window in [
        host_bound,
        idle,
        WaitShares {
            longest_wait: 9.0,
            device_busy: 0.9,
            ..host_bound
        },
    ] {
        let mut knobs = NOW;
        for _ in 0..40 {
            let Some((next, change)) = decide(&window, knobs, &BOUNDS) else {
                break;
            };
            assert_ne!(next, knobs, "{change}");
            knobs = next;
            for (value, least, most) in [
                (knobs.workers, BOUNDS.least.workers, BOUNDS.most.workers),
                (
                    knobs.in_flight,
                    BOUNDS.least.in_flight,
                    BOUNDS.most.in_flight,
                ),
                (
                    knobs.ring_depth,
                    BOUNDS.least.ring_depth,
                    BOUNDS.most.ring_depth,
                ),
            ] {
                assert!((least..=most).contains(&value), "{knobs:?}");
            }
        }
    }
    // What the user fixed has equal ends and stays.
    let fixed = Bounds {
        least: NOW,
        most: NOW,
    };
    assert_eq!(decide(&host_bound, NOW, &fixed), None);
    assert_eq!(decide(&idle, NOW, &fixed), None);
}

/// The knobs of a running pipeline really move.
#[test]
fn a_slow_host_gets_a_second_worker() {
    use std::sync::Arc;
    use std::time::Duration;
    let knobs = Knobs {
        workers: 1,
        in_flight: 8,
        ring_depth: 2,
    };
    let setup = Setup {
        knobs,
        bounds: Bounds {
            least: knobs,
            most: Knobs {
                workers: 4,
                ..knobs
            },
        },
        ..crate::support::setup(1, false, 1, 400)
    };
    let slow = |_: Ticket| {
        std::thread::sleep(Duration::from_millis(8));
        Ok(())
    };
    let host = crate::support::Numbers {
        before: Arc::new(slow),
        ..Default::default()
    };
    let (pipeline, mut ends) = crate::support::start(&setup, host, false);
    let begin = std::time::Instant::now();
    let mut changes = vec![];
    while begin.elapsed() < Duration::from_secs(60) && changes.is_empty() {
        let delivered = ends[0].next().unwrap();
        std::thread::sleep(Duration::from_millis(4));
        drop(delivered);
        changes.extend(pipeline.changes());
    }
    assert_eq!(
        (changes[0].knob, changes[0].from, changes[0].to),
        ("workers", 1, 2)
    );
}
