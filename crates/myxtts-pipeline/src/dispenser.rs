//! Which batch is prepared next, and how many may be in flight.
//!
//! Tickets are handed out in order and each carries a permit that comes back
//! when its batch has been used. Taking both under one lock is what makes the
//! bound safe: the oldest batch in flight always has its permit.

use crate::sync::{Arc, Condvar, Mutex, lock, wait};

/// One batch to prepare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket {
    /// The step, counted from the beginning of the run.
    pub step: u64,
    /// The model device the batch is for.
    pub lane: usize,
}

/// Hands out tickets in order, each with a permit.
#[derive(Debug)]
pub(crate) struct Dispenser {
    inner: Mutex<Inner>,
    changed: Condvar,
}

#[derive(Debug)]
struct Inner {
    /// The number of the next ticket, `step * lanes + lane`.
    next: u64,
    end: u64,
    lanes: u64,
    in_flight: usize,
    in_flight_limit: usize,
    peak: usize,
    workers: usize,
    closed: bool,
}

/// A place among the batches in flight, returned when dropped.
#[derive(Debug)]
pub(crate) struct Permit(Arc<Dispenser>);

impl Dispenser {
    /// Makes a dispenser of tickets for the steps from `first` up to but not
    /// including `end`, one per lane. At most `in_flight_limit` batches are in flight, and
    /// only the first `workers` workers take tickets.
    pub(crate) fn new(
        first: u64,
        end: u64,
        lanes: usize,
        in_flight_limit: usize,
        workers: usize,
    ) -> Arc<Self> {
        let lanes = lanes.max(1) as u64;
        let inner = Inner {
            next: first * lanes,
            end: end * lanes,
            lanes,
            in_flight: 0,
            in_flight_limit,
            peak: 0,
            workers,
            closed: false,
        };
        Arc::new(Self {
            inner: Mutex::new(inner),
            changed: Condvar::new(),
        })
    }

    /// Takes the next ticket for worker number `worker`, and waits for a permit.
    /// `None` when there are no more.
    pub(crate) fn take(this: &Arc<Self>, worker: usize) -> Option<(Ticket, Permit)> {
        let mut inner = lock(&this.inner);
        loop {
            if inner.closed || inner.next >= inner.end {
                return None;
            }
            if inner.in_flight < inner.in_flight_limit && worker < inner.workers {
                break;
            }
            inner = wait(&this.changed, inner);
        }
        let number = inner.next;
        let last = number + 1 >= inner.end;
        inner.next += 1;
        inner.in_flight += 1;
        inner.peak = inner.peak.max(inner.in_flight);
        let ticket = Ticket {
            step: number / inner.lanes,
            lane: usize::try_from(number % inner.lanes).unwrap_or(0),
        };
        drop(inner);
        if last {
            // Workers that wait for a permit no longer need one.
            this.changed.notify_all();
        }
        Some((ticket, Permit(Arc::clone(this))))
    }

    /// Ends the work of all workers.
    pub(crate) fn close(&self) {
        lock(&self.inner).closed = true;
        self.changed.notify_all();
    }

    /// Changes how many workers take tickets.
    pub(crate) fn set_workers(&self, workers: usize) {
        lock(&self.inner).workers = workers.max(1);
        self.changed.notify_all();
    }

    /// Changes how many batches may be in flight.
    pub(crate) fn set_in_flight(&self, in_flight_limit: usize) {
        lock(&self.inner).in_flight_limit = in_flight_limit.max(1);
        self.changed.notify_all();
    }

    /// Returns the number of batches in flight now, and the most there have been.
    pub(crate) fn in_flight(&self) -> (usize, usize) {
        let inner = lock(&self.inner);
        (inner.in_flight, inner.peak)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        lock(&self.0.inner).in_flight -= 1;
        self.0.changed.notify_all();
    }
}

#[cfg(all(test, loom))]
mod interleavings {
    #![allow(clippy::unwrap_used, reason = "test code")]

    use super::*;

    /// Two workers, one permit: no ticket twice, none lost, one in flight.
    #[test]
    fn tickets_once_and_permits_back() {
        loom::model(|| {
            let dispenser = Dispenser::new(0, 3, 1, 1, 2);
            let workers: Vec<_> = (0..2)
                .map(|worker| {
                    let dispenser = Arc::clone(&dispenser);
                    loom::thread::spawn(move || {
                        let mut mine = vec![];
                        while let Some((ticket, _permit)) = Dispenser::take(&dispenser, worker) {
                            mine.push(ticket.step);
                        }
                        mine
                    })
                })
                .collect();
            let mut all: Vec<u64> = workers
                .into_iter()
                .flat_map(|w| w.join().unwrap())
                .collect();
            all.sort_unstable();
            assert_eq!(all, [0, 1, 2]);
            assert_eq!(dispenser.in_flight(), (0, 1));
        });
    }
}
