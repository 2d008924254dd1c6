//! Whatever goes wrong, everybody goes home, and the first reason is the one told.

use std::sync::Arc;
use std::time::{Duration, Instant};

use myxtts_pipeline::*;

use crate::support::{Numbers, drain, jitter, noise, setup, start, start_with};

/// What hangs, hangs for ever; what ends does so in milliseconds, or in seconds
/// beside other work.
const HOME: Duration = Duration::from_secs(20);

fn panics_at(step: u64) -> Numbers {
    let before = move |ticket: Ticket| {
        assert!(ticket.step != step, "a bad clip");
        Ok(())
    };
    Numbers {
        before: Arc::new(before),
        ..Numbers::default()
    }
}

#[test]
fn a_panicking_worker_ends_the_run_with_its_words() {
    let (pipeline, mut ends) = start(&setup(2, true, 3, 1000), panics_at(30), true);
    let seen = drain(&mut ends).unwrap_err();
    let expected = Failure::Panicked {
        stage: PipelineStage::Host,
        why: "a bad clip".to_owned(),
    };
    assert_eq!(seen, expected);
    let begin = Instant::now();
    assert_eq!(pipeline.finish().failure, Some(expected));
    assert!(begin.elapsed() < HOME);
}

#[test]
fn a_lost_device_ends_the_run_at_its_step() {
    let lost = |ticket: Ticket| {
        if ticket.step == 12 {
            Err("the device was lost".to_owned())
        } else {
            Ok(())
        }
    };
    let setup = setup(1, false, 2, 1000);
    let (pipeline, mut ends) = start_with(&setup, Numbers::default(), false, Arc::new(lost));
    let failure = drain(&mut ends).unwrap_err();
    insta::assert_snapshot!(failure, @"the device stage failed at step 12: the device was lost");
    assert_eq!(pipeline.finish().failure, Some(failure));
}

#[test]
fn a_device_that_cannot_start_says_so() {
    let setup = setup(1, false, 2, 10);
    let device_stages: Vec<Make<crate::support::AddOne>> =
        vec![Box::new(|| Err("no such device".to_owned()))];
    let hops: Vec<Make<crate::support::Carry>> = vec![];
    let (pipeline, mut ends) = Pipeline::start(
        &setup,
        Numbers::default(),
        device_stages,
        hops,
        Ledger::in_memory(),
    )
    .unwrap();
    assert!(drain(&mut ends).is_err());
    let failure = pipeline.finish().failure.unwrap();
    insta::assert_snapshot!(failure, @"the device stage could not start: no such device");
}

/// One clip takes 200 times as long: later batches wait their turn, none is
/// lost, none comes twice.
#[test]
fn one_slow_clip_keeps_the_order() {
    let slow = |ticket: Ticket| {
        std::thread::sleep(Duration::from_micros(if ticket.step == 20 {
            100_000
        } else {
            500
        }));
        Ok(())
    };
    let host = Numbers {
        before: Arc::new(slow),
        ..Numbers::default()
    };
    let (_pipeline, mut ends) = start(&setup(1, false, 4, 60), host, false);
    let steps: Vec<u64> = drain(&mut ends).unwrap()[0]
        .iter()
        .map(|(step, _)| *step)
        .collect();
    assert_eq!(steps, (0..60).collect::<Vec<_>>());
}

/// Stopped at random instants: no hang, and what was delivered is a clean
/// beginning of the run.
#[test]
fn two_hundred_runs_stopped_anywhere() {
    for run in 0..200_u64 {
        let setup = setup(
            1 + (run % 2) as usize,
            run % 3 == 0,
            1 + (run % 4) as usize,
            400,
        );
        let host = Numbers {
            before: jitter(),
            ..Numbers::default()
        };
        let (pipeline, mut ends) = start(&setup, host, run % 5 == 0);
        let stop = pipeline.stop().clone();
        let stopper = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_micros(noise(run) % 6000));
            stop.fail(Failure::Requested);
        });
        let mut seen = vec![];
        while let Ok(Some(delivered)) = ends[0].next() {
            seen.push(delivered.step);
            for lane in &mut ends[1..] {
                if let Ok(Some(other)) = lane.next() {
                    assert_eq!(other.step, delivered.step);
                }
            }
        }
        assert_eq!(seen, (0..seen.len() as u64).collect::<Vec<_>>());
        let begin = Instant::now();
        assert_eq!(pipeline.finish().failure, Some(Failure::Requested));
        assert!(begin.elapsed() < HOME);
        stopper.join().unwrap();
    }
}

/// Dropping everything in the middle leaves no thread behind.
#[test]
fn dropping_joins() {
    let begin = Instant::now();
    for _ in 0..20 {
        let host = Numbers {
            before: jitter(),
            ..Numbers::default()
        };
        let (pipeline, mut ends) = start(&setup(2, true, 4, 400), host, true);
        let first = ends[0].next().unwrap();
        drop(pipeline);
        assert!(ends[0].next().is_err());
        drop((first, ends));
    }
    assert!(begin.elapsed() < 4 * HOME);
}

/// A full disk under the ledger is told and is not the run's failure.
#[test]
fn a_ledger_that_cannot_be_written_is_told() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full");
    let Ok(full) = full else {
        eprintln!("SKIPPED: no /dev/full on this system");
        return;
    };
    let device_stages: Vec<Make<crate::support::AddOne>> = vec![Box::new(|| {
        Ok(crate::support::AddOne(Arc::new(|_| Ok(()))))
    })];
    let hops: Vec<Make<crate::support::Carry>> = vec![];
    let setup = setup(1, false, 2, 20);
    let (pipeline, mut ends) = Pipeline::start(
        &setup,
        Numbers::default(),
        device_stages,
        hops,
        Ledger::written(full),
    )
    .unwrap();
    assert_eq!(drain(&mut ends).unwrap()[0].len(), 20);
    drop(ends);
    let outcome = pipeline.finish();
    assert_eq!(outcome.failure, None);
    insta::assert_snapshot!(outcome.ledger_lost.unwrap(), @r"
    the ledger could not be written: No space left on device (os error 28)
      fix:   free some space; the run itself is not affected
    ");
}
