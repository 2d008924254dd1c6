//! The bounds hold.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use myxtts_pipeline::*;
use proptest::prelude::*;

use crate::support::{Numbers, jitter, setup, start};

/// In flight counts everything from the ticket to the batch in use.
#[test]
fn the_buffer_size_is_never_exceeded() {
    for (lanes, shared, hop) in [(1, false, false), (1, true, true), (2, true, true)] {
        let setup = setup(lanes, shared, 8, 80);
        let begun = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&begun);
        let slow = jitter();
        let before = move |ticket| {
            count.fetch_add(1, Ordering::SeqCst);
            slow(ticket)
        };
        let host = Numbers {
            before: Arc::new(before),
            ..Numbers::default()
        };
        let (pipeline, mut ends) = start(&setup, host, hop);
        let mut used = 0;
        'run: loop {
            let mut held = vec![];
            for lane in &mut ends {
                let Some(delivered) = lane.next().unwrap() else {
                    break 'run;
                };
                held.push(delivered);
                // Counted here, not by the pipeline itself.
                let in_flight = begun.load(Ordering::SeqCst) - used;
                assert!(in_flight <= setup.knobs.in_flight, "{in_flight}");
            }
            std::thread::sleep(Duration::from_micros(300));
            used += held.len();
            drop(held);
        }
        let (now, peak) = pipeline.in_flight();
        assert!(now == 0 && peak <= setup.knobs.in_flight, "{now} {peak}");
        // A slow model lets the data side run up to the bound.
        assert_eq!(peak, setup.knobs.in_flight);
    }
}

#[test]
fn rings_hold_no_more_than_they_may() {
    let setup = Setup {
        host_ring: RingBounds {
            batches: 3,
            bytes: 25,
            largest: 10,
        },
        ..setup(1, false, 6, 60)
    };
    let host = Numbers {
        before: jitter(),
        ..Numbers::default()
    };
    let (pipeline, mut ends) = start(&setup, host, false);
    while let Some(delivered) = ends[0].next().unwrap() {
        std::thread::sleep(Duration::from_micros(200));
        drop(delivered);
    }
    let rings = pipeline.summary().rings;
    let host = &rings[0];
    assert_eq!(host.ring, "host");
    assert!(host.peak_bytes <= 25 && host.peak_batches <= 3, "{host:?}");
    assert!(rings[1].peak_batches <= setup.device_ring.batches);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Pushed by as many threads as there are batches, in any order.
    #[test]
    fn a_ring_keeps_order_and_bounds(
        sizes in proptest::collection::vec(1_u64..10, 1..24),
        batches in 1_usize..5,
        spare in 0_u64..20,
        seed in any::<u64>(),
    ) {
        let bounds = RingBounds { batches, bytes: 10 + spare, largest: 10 };
        let ring = Ring::new("test", bounds, 0);
        ring.end(sizes.len() as u64);
        let mut order: Vec<usize> = (0..sizes.len()).collect();
        order.sort_by_key(|index| crate::support::noise(seed ^ *index as u64));
        let mut seen = vec![];
        std::thread::scope(|scope| {
            for index in order {
                let (ring, size) = (&ring, sizes[index]);
                scope.spawn(move || ring.push(index as u64, size, size).unwrap());
            }
            while let Some((sequence, size)) = ring.pop().unwrap() {
                seen.push((sequence as usize, size));
            }
        });
        let expected: Vec<(usize, u64)> = sizes.iter().copied().enumerate().collect();
        prop_assert_eq!(seen, expected);
        let state = ring.state();
        prop_assert!(state.peak_batches <= batches, "{:?}", state);
        prop_assert!(state.peak_bytes <= bounds.bytes, "{:?}", state);
    }
}
