//! A ring: batches in order, bounded in number and in bytes.
//!
//! Producers finish in any order, and the consumer takes batches in sequence. The
//! batch the consumer waits for is always let in; the others keep room for it
//! free, so the bounds hold without a deadlock.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::sync::{Condvar, Mutex, lock, wait};

/// How much a ring may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingBounds {
    /// The largest number of batches.
    pub batches: usize,
    /// The largest size of all batches together, in bytes.
    pub bytes: u64,
    /// The size of the largest possible batch, in bytes; room for one is kept free.
    pub largest: u64,
}

impl RingBounds {
    /// Returns how many of the largest batches fit at once.
    pub fn holds(&self) -> usize {
        let by_bytes = self.bytes.checked_div(self.largest);
        let by_bytes = by_bytes.and_then(|batches| usize::try_from(batches).ok());
        by_bytes.map_or(self.batches, |batches| batches.min(self.batches))
    }
}

/// What a ring holds now, and has held.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RingState {
    /// Batches it holds now.
    pub batches: usize,
    /// Bytes it holds now.
    pub bytes: u64,
    /// The most batches at once.
    pub peak_batches: usize,
    /// The most bytes at once.
    pub peak_bytes: u64,
    /// Time since the first push during which the next batch was ready.
    pub ready: Duration,
    /// Time since the first push.
    pub open: Duration,
}

/// The ring was closed, because the pipeline is stopping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closed;

/// A named, bounded, ordered queue.
#[derive(Debug)]
pub struct Ring<T> {
    name: &'static str,
    inner: Mutex<Inner<T>>,
    changed: Condvar,
}

#[derive(Debug)]
struct Inner<T> {
    bounds: RingBounds,
    slots: BTreeMap<u64, (T, u64)>,
    next: u64,
    /// The sequence number after the last batch, once it is known.
    end: Option<u64>,
    closed: bool,
    /// Whether somebody is in `pop`, waiting for the next batch.
    wanted: bool,
    state: RingState,
    opened: Option<Instant>,
    ready_since: Option<Instant>,
}

impl<T> Ring<T> {
    /// Makes an empty ring that starts with batch `first`.
    pub fn new(name: &'static str, bounds: RingBounds, first: u64) -> Self {
        let inner = Inner {
            bounds,
            slots: BTreeMap::new(),
            next: first,
            end: None,
            closed: false,
            wanted: false,
            state: RingState::default(),
            opened: None,
            ready_since: None,
        };
        Self {
            name,
            inner: Mutex::new(inner),
            changed: Condvar::new(),
        }
    }

    /// Returns the ring's name on the ledger.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Puts in batch `sequence`, waiting for room. Returns the time waited.
    pub fn push(&self, sequence: u64, batch: T, bytes: u64) -> Result<Duration, Closed> {
        let begin = Instant::now();
        let mut inner = lock(&self.inner);
        while !inner.closed && !inner.has_room(sequence, bytes) {
            inner = wait(&self.changed, inner);
        }
        if inner.closed {
            return Err(Closed);
        }
        inner.insert(sequence, batch, bytes);
        drop(inner);
        self.changed.notify_all();
        Ok(begin.elapsed())
    }

    /// Takes the next batch in sequence, waiting for it. `None` after the last.
    pub fn pop(&self) -> Result<Option<(u64, T)>, Closed> {
        let popped = self.pop_timed()?;
        Ok(popped.map(|(sequence, batch, _)| (sequence, batch)))
    }

    /// Like [`pop`](Self::pop), with the time during which the batch was not
    /// there. The time is taken before others are woken up: on a machine with few
    /// cores the system may run those first, and that is not what was waited for.
    pub(crate) fn pop_timed(&self) -> Result<Option<(u64, T, Duration)>, Closed> {
        let mut begin = None;
        let mut inner = lock(&self.inner);
        loop {
            if inner.closed {
                return Err(Closed);
            }
            if let Some(taken) = inner.take() {
                inner.wanted = false;
                let waited = begin.map_or(Duration::ZERO, |begin: Instant| begin.elapsed());
                drop(inner);
                self.changed.notify_all();
                return Ok(Some((taken.0, taken.1, waited)));
            }
            if inner.end.is_some_and(|end| inner.next >= end) {
                return Ok(None);
            }
            begin.get_or_insert_with(Instant::now);
            if !std::mem::replace(&mut inner.wanted, true) {
                self.changed.notify_all();
            }
            inner = wait(&self.changed, inner);
        }
    }

    /// Returns the sequence number of the batch that is taken next.
    pub(crate) fn awaited(&self) -> u64 {
        lock(&self.inner).next
    }

    /// Waits until somebody waits for batch `sequence`. Returns at once for one
    /// that has been taken.
    pub(crate) fn wait_wanted(&self, sequence: u64) -> Result<(), Closed> {
        let mut inner = lock(&self.inner);
        loop {
            if inner.closed {
                return Err(Closed);
            }
            let is_past = inner.end.is_some_and(|end| sequence >= end);
            if inner.next > sequence || is_past || (inner.next == sequence && inner.wanted) {
                return Ok(());
            }
            inner = wait(&self.changed, inner);
        }
    }

    /// Declares that no batch from `end` on will come.
    pub fn end(&self, end: u64) {
        lock(&self.inner).end = Some(end);
        self.changed.notify_all();
    }

    /// Wakes everybody up for good, and drops what the ring holds.
    pub(crate) fn close(&self) {
        let dropped = {
            let mut inner = lock(&self.inner);
            inner.closed = true;
            inner.state.batches = 0;
            inner.state.bytes = 0;
            std::mem::take(&mut inner.slots)
        };
        // Outside the lock: a batch may return a permit when it is dropped.
        drop(dropped);
        self.changed.notify_all();
    }

    /// Changes how many batches the ring holds; a lower bound takes effect as it drains.
    pub(crate) fn set_batches(&self, batches: usize) {
        lock(&self.inner).bounds.batches = batches.max(1);
        self.changed.notify_all();
    }

    /// Returns what the ring holds now, and has held.
    pub fn state(&self) -> RingState {
        let inner = lock(&self.inner);
        let mut state = inner.state;
        state.open = inner
            .opened
            .map_or(Duration::ZERO, |opened| opened.elapsed());
        state.ready += inner
            .ready_since
            .map_or(Duration::ZERO, |since| since.elapsed());
        state
    }

    /// Waits until the ring holds `batches`, has everything it will get, or
    /// `longest` has passed. Returns how many it holds.
    pub(crate) fn wait_filled(&self, batches: usize, longest: Duration) -> Result<usize, Closed> {
        let begin = Instant::now();
        let mut inner = lock(&self.inner);
        loop {
            if inner.closed {
                return Err(Closed);
            }
            let held = inner.slots.len();
            let complete = inner.end.is_some_and(|end| inner.next + held as u64 >= end);
            let left = longest.saturating_sub(begin.elapsed());
            if held >= batches || complete || left.is_zero() {
                return Ok(held);
            }
            inner = self
                .changed
                .wait_timeout(inner, left)
                .unwrap_or_else(std::sync::PoisonError::into_inner)
                .0;
        }
    }
}

impl<T> Inner<T> {
    fn has_room(&self, sequence: u64, bytes: u64) -> bool {
        let bounds = self.bounds;
        if sequence == self.next {
            return true;
        }
        // The place of the awaited batch is kept, whether it is there or not:
        // when it leaves, the one after it needs the same room.
        let awaited = self.slots.get(&self.next).map(|(_, bytes)| *bytes);
        let others = self.slots.len() - usize::from(awaited.is_some());
        let other_bytes = self.state.bytes - awaited.unwrap_or(0);
        others + 2 <= bounds.batches && other_bytes + bytes + bounds.largest <= bounds.bytes
    }

    fn insert(&mut self, sequence: u64, batch: T, bytes: u64) {
        self.slots.insert(sequence, (batch, bytes));
        self.state.batches = self.slots.len();
        self.state.bytes += bytes;
        self.state.peak_batches = self.state.peak_batches.max(self.state.batches);
        self.state.peak_bytes = self.state.peak_bytes.max(self.state.bytes);
        self.opened.get_or_insert_with(Instant::now);
        if sequence == self.next {
            self.ready_since.get_or_insert_with(Instant::now);
        }
    }

    fn take(&mut self) -> Option<(u64, T)> {
        let sequence = self.next;
        let (batch, bytes) = self.slots.remove(&sequence)?;
        self.next += 1;
        self.state.batches = self.slots.len();
        self.state.bytes -= bytes;
        if !self.slots.contains_key(&self.next) {
            let since = self.ready_since.take();
            self.state.ready += since.map_or(Duration::ZERO, |since| since.elapsed());
        }
        Some((sequence, batch))
    }
}

#[cfg(all(test, loom))]
mod interleavings {
    #![allow(clippy::unwrap_used, reason = "test code")]

    use super::*;
    use crate::sync::Arc;

    const BOUNDS: RingBounds = RingBounds {
        batches: 2,
        bytes: 2,
        largest: 1,
    };

    /// Two producers, any order of finishing: everything arrives once, in
    /// sequence, within the bounds.
    #[test]
    fn producers_in_any_order() {
        loom::model(|| {
            let ring = Arc::new(Ring::new("test", BOUNDS, 0));
            let producers: Vec<_> = [[0, 2], [1, 3]]
                .map(|mine| {
                    let ring = Arc::clone(&ring);
                    loom::thread::spawn(move || {
                        for sequence in mine {
                            ring.push(sequence, sequence, 1).unwrap();
                        }
                    })
                })
                .into();
            ring.end(4);
            let mut seen = vec![];
            while let Some((sequence, batch)) = ring.pop().unwrap() {
                assert_eq!(sequence, batch);
                seen.push(batch);
            }
            assert_eq!(seen, [0, 1, 2, 3]);
            for producer in producers {
                producer.join().unwrap();
            }
            let state = ring.state();
            assert!(state.peak_batches <= 2 && state.peak_bytes <= 2);
        });
    }

    /// Who makes a batch only when it is wanted, and who waits for it, find each
    /// other, batch after batch, and nothing is made ahead.
    #[test]
    fn made_when_wanted() {
        loom::model(|| {
            let ring = Arc::new(Ring::new("test", BOUNDS, 0));
            let producer = {
                let ring = Arc::clone(&ring);
                loom::thread::spawn(move || {
                    for sequence in 0..2 {
                        ring.wait_wanted(sequence).unwrap();
                        assert_eq!(ring.awaited(), sequence);
                        ring.push(sequence, sequence, 1).unwrap();
                    }
                })
            };
            ring.end(2);
            let mut seen = vec![];
            while let Some((sequence, _)) = ring.pop().unwrap() {
                seen.push(sequence);
            }
            assert_eq!(seen, [0, 1]);
            producer.join().unwrap();
            assert_eq!(ring.state().peak_batches, 1);
        });
    }

    /// A consumer that takes more batches for one step than there are permits,
    /// giving each back as it goes, comes to the end of the step.
    #[test]
    fn a_step_of_more_batches_than_permits() {
        use crate::dispenser::Dispenser;
        loom::model(|| {
            let ring = Arc::new(Ring::new("test", BOUNDS, 0));
            let dispenser = Dispenser::new(0, 3, 1, 2, 1);
            let worker = {
                let (ring, dispenser) = (Arc::clone(&ring), Arc::clone(&dispenser));
                loom::thread::spawn(move || {
                    while let Some((ticket, permit)) = Dispenser::take(&dispenser, 0) {
                        ring.push(ticket.step, permit, 1).unwrap();
                    }
                })
            };
            ring.end(3);
            let mut taken = 0;
            while let Some((_, permit)) = ring.pop().unwrap() {
                drop(permit);
                taken += 1;
            }
            assert_eq!(taken, 3);
            worker.join().unwrap();
            assert_eq!(dispenser.in_flight().0, 0);
        });
    }

    /// Closing wakes a producer without room and a consumer without a batch.
    #[test]
    fn closing_wakes_everybody() {
        loom::model(|| {
            let ring = Arc::new(Ring::new("test", BOUNDS, 0));
            let producer = {
                let ring = Arc::clone(&ring);
                loom::thread::spawn(move || {
                    let _ = ring.push(1, 1, 1);
                    let _ = ring.push(2, 2, 1);
                })
            };
            let consumer = {
                let ring = Arc::clone(&ring);
                loom::thread::spawn(move || while let Ok(Some(_)) = ring.pop() {})
            };
            ring.close();
            producer.join().unwrap();
            consumer.join().unwrap();
            assert_eq!(ring.state().batches, 0);
        });
    }
}
