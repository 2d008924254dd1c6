//! The model's end of the pipeline.

use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use super::{Packed, Setup};
use crate::adapt::{Bounds, KnobChange, Knobs, decide};
use crate::dispenser::{Dispenser, Permit};
use crate::failure::{Failure, PipelineStage, Stop};
use crate::ledger::{Entry, Ledger, microseconds};
use crate::ring::Ring;
use crate::start::{Start, StartReason};
use crate::sync::Arc;

/// A batch for the model. Its permit is returned when it is dropped or used up: a
/// step of many batches that kept them all would wait for one that cannot get a permit.
#[derive(Debug)]
pub struct Delivered<T> {
    /// The step the batch is for.
    pub step: u64,
    /// The batch itself, on the model device.
    pub batch: T,
    /// Time that the model waited for it.
    pub waited: Duration,
    _permit: Permit,
}

impl<T> Delivered<T> {
    /// Returns the batch alone; its permit goes to the next one.
    pub fn into_batch(self) -> T {
        self.batch
    }
}

/// The end of the pipeline at which one model device takes its batches.
#[derive(Debug)]
pub struct Lane<T> {
    number: usize,
    ring: Arc<Ring<Packed<T>>>,
    ledger: Arc<Ledger>,
    stop: Stop,
    controller: Option<Controller>,
    /// The entry of the step under way, and when its work began.
    open: Option<(Entry, Instant)>,
}

impl<T> Lane<T> {
    pub(super) fn new(
        number: usize,
        ring: Arc<Ring<Packed<T>>>,
        ledger: Arc<Ledger>,
        stop: Stop,
        controller: Option<Controller>,
    ) -> Self {
        Self {
            number,
            ring,
            ledger,
            stop,
            controller,
            open: None,
        }
    }

    /// Waits for the ring to hold `target` batches, but no longer than `longest`.
    /// Call this when data can arrive: earlier, the wait would be for something else.
    pub fn wait_for_start(&mut self, target: usize, longest: Duration) -> Result<Start, Failure> {
        let begin = Instant::now();
        let held = self
            .ring
            .wait_filled(target, longest)
            .map_err(|_| self.failure())?;
        let waited = begin.elapsed();
        let reason = if held >= target {
            StartReason::Filled
        } else if waited >= longest {
            StartReason::Delay
        } else {
            StartReason::Complete
        };
        Ok(Start {
            reason,
            held,
            target,
            waited,
            longest,
        })
    }

    /// Takes the next batch; `None` after the last.
    #[expect(
        clippy::should_implement_trait,
        reason = "it may fail, and an iterator may not"
    )]
    pub fn next(&mut self) -> Result<Option<Delivered<T>>, Failure> {
        self.end_step();
        if let Some(controller) = &mut self.controller {
            controller.turn();
        }
        let popped = self.ring.pop_timed().map_err(|_| self.failure())?;
        let Some((_, packed, waited)) = popped else {
            return Ok(None);
        };
        let Packed {
            ticket,
            batch,
            bytes,
            permit,
        } = packed;
        let entry = Entry {
            wait_in_us: microseconds(waited),
            bytes,
            occupancy: self.ring.state().batches,
            ..Entry::new(PipelineStage::Model, self.number, ticket.step, self.number)
        };
        self.open = Some((entry, Instant::now()));
        Ok(Some(Delivered {
            step: ticket.step,
            batch,
            waited,
            _permit: permit,
        }))
    }

    /// Notes the step under way as done.
    fn end_step(&mut self) {
        if let Some((mut entry, begin)) = self.open.take() {
            entry.busy_us = microseconds(begin.elapsed());
            self.ledger.note(entry);
        }
    }

    fn failure(&self) -> Failure {
        self.stop.first().unwrap_or(Failure::Requested)
    }
}

impl<T> Drop for Lane<T> {
    fn drop(&mut self) {
        self.end_step();
    }
}

/// Turns the knobs of smart prefetch, between two steps of the first lane.
pub(super) struct Controller {
    knobs: Knobs,
    bounds: Bounds,
    lanes: usize,
    dispenser: Arc<Dispenser>,
    ledger: Arc<Ledger>,
    changes: Sender<KnobChange>,
    set_ring_depth: Box<dyn Fn(usize) + Send>,
    last: Instant,
}

impl std::fmt::Debug for Controller {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Controller")
            .field("knobs", &self.knobs)
            .finish_non_exhaustive()
    }
}

/// The shortest time between two decisions.
const PAUSE: Duration = Duration::from_secs(1);

impl Controller {
    pub(super) fn new(
        setup: &Setup,
        dispenser: &Arc<Dispenser>,
        ledger: &Arc<Ledger>,
        changes: Sender<KnobChange>,
        set_ring_depth: impl Fn(usize) + Send + 'static,
    ) -> Self {
        Self {
            knobs: setup.knobs,
            bounds: setup.bounds,
            lanes: setup.wiring.lanes,
            dispenser: Arc::clone(dispenser),
            ledger: Arc::clone(ledger),
            changes,
            set_ring_depth: Box::new(set_ring_depth),
            last: Instant::now(),
        }
    }

    fn turn(&mut self) {
        if self.bounds.least == self.bounds.most || self.last.elapsed() < PAUSE {
            return;
        }
        self.last = Instant::now();
        let window = self.ledger.take_wait_shares(self.lanes, self.knobs.workers);
        let Some((knobs, change)) = decide(&window, self.knobs, &self.bounds) else {
            return;
        };
        self.knobs = knobs;
        self.dispenser.set_workers(knobs.workers);
        self.dispenser.set_in_flight(knobs.in_flight);
        (self.set_ring_depth)(knobs.ring_depth);
        // Nobody may be listening any more.
        let _ = self.changes.send(change);
    }
}
