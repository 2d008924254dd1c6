//! The body of each thread.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use super::{Make, Packed, Rings};
use crate::dispenser::{Dispenser, Ticket};
use crate::failure::{Failure, PipelineStage, Stop, panic_words};
use crate::ledger::{Entry, Ledger, microseconds};
use crate::ring::{Closed, Ring};
use crate::sync::{Arc, Mutex, lock};
use crate::work::{DeviceStage, Hop, HostParts, HostWork};

/// What every thread needs.
#[derive(Clone, Debug)]
pub(super) struct Context {
    pub(super) stop: Stop,
    pub(super) ledger: Arc<Ledger>,
    pub(super) lanes: u64,
    pub(super) shared_data_device: bool,
    /// Whether device batches are made when the model asks for them, and not ahead.
    pub(super) on_demand: bool,
}

impl Context {
    /// Returns which host ring a batch goes to, and its sequence number there.
    fn host_place(&self, ticket: Ticket) -> (usize, u64) {
        if self.shared_data_device {
            (0, ticket.step * self.lanes + ticket.lane as u64)
        } else {
            (ticket.lane, ticket.step)
        }
    }

    /// Waits until a batch may be made for `ring`: not at all, or, on demand,
    /// until its consumer waits for this very batch.
    fn may_make<T>(&self, ring: &Ring<Packed<T>>, sequence: u64) -> Result<(), Closed> {
        match self.on_demand {
            true => ring.wait_wanted(sequence),
            false => Ok(()),
        }
    }

    /// Puts a finished batch into the next ring, and notes what it took.
    fn pass_on<T>(
        &self,
        clock: &mut Clock,
        ring: &Ring<Packed<T>>,
        sequence: u64,
        packed: Packed<T>,
        parts: Parts,
    ) -> Result<(), Closed> {
        let busy = clock.lap();
        let (ticket, bytes) = (packed.ticket, packed.bytes);
        ring.push(sequence, packed, bytes)?;
        let us = |part: Option<Duration>| part.map(microseconds);
        self.ledger.note(Entry {
            wait_in_us: microseconds(clock.wait_in),
            busy_us: microseconds(busy),
            wait_out_us: microseconds(clock.take_wait_out()),
            bytes,
            occupancy: ring.state().batches,
            read_us: us(parts.host.map(|parts| parts.read)),
            decode_us: us(parts.host.map(|parts| parts.decode)),
            upload_us: us(parts.upload),
            ..Entry::new(clock.stage, clock.worker, ticket.step, ticket.lane)
        });
        Ok(())
    }
}

/// Where the time of a batch's work went, as far as the work reports it.
#[derive(Clone, Copy, Debug, Default)]
struct Parts {
    host: Option<HostParts>,
    upload: Option<Duration>,
}

/// Runs a thread's body; a failure or a panic ends the whole run.
pub(super) fn guarded(
    context: &Context,
    stage: PipelineStage,
    body: impl FnOnce(&Context) -> Result<(), Failure>,
) {
    let result = catch_unwind(AssertUnwindSafe(|| body(context)));
    let failure = match result {
        Ok(Ok(())) => return,
        Ok(Err(failure)) => failure,
        Err(payload) => Failure::Panicked {
            stage,
            why: panic_words(&*payload),
        },
    };
    context.stop.fail(failure);
}

pub(super) fn host<H: HostWork>(
    context: &Context,
    worker: usize,
    work: &H,
    dispenser: &Arc<Dispenser>,
    spares: &Mutex<Vec<H::Buffer>>,
    rings: &Rings<H::Buffer>,
) -> Result<(), Failure> {
    let mut clock = Clock::start(PipelineStage::Host, worker);
    while let Some((ticket, permit)) = Dispenser::take(dispenser, worker) {
        clock.begin_work();
        let spare = lock(spares).pop();
        let batch = match work.fill(ticket, spare) {
            Ok(batch) => batch,
            // Whatever a worker reports after the end is not why the run ended.
            Err(_) if context.stop.is_stopped() => return Ok(()),
            Err(why) => return Err(failed(PipelineStage::Host, ticket, why)),
        };
        let bytes = work.bytes(&batch);
        let parts = Parts {
            host: work.parts(&batch),
            ..Parts::default()
        };
        let (ring, sequence) = context.host_place(ticket);
        let packed = Packed {
            ticket,
            batch,
            bytes,
            permit,
        };
        let passed = context.pass_on(&mut clock, &rings[ring], sequence, packed, parts);
        if passed == Err(Closed) {
            return Ok(());
        }
    }
    Ok(())
}

pub(super) fn device_stage<S: DeviceStage>(
    context: &Context,
    number: usize,
    make: Make<S>,
    input: &Ring<Packed<S::Buffer>>,
    spares: &Mutex<Vec<S::Buffer>>,
    outputs: &Rings<S::Batch>,
) -> Result<(), Failure> {
    let mut work = made(PipelineStage::Device, make)?;
    let mut clock = Clock::start(PipelineStage::Device, number);
    while let Ok(Some((_, packed))) = input.pop() {
        clock.begin_work();
        let ticket = packed.ticket;
        let output = &outputs[ticket.lane];
        if context.may_make(output, ticket.step) == Err(Closed) {
            return Ok(());
        }
        clock.end_wait_out();
        let batch = work
            .process(ticket, &packed.batch)
            .map_err(|why| failed(PipelineStage::Device, ticket, why))?;
        lock(spares).push(packed.batch);
        let parts = Parts {
            upload: work.uploading(),
            ..Parts::default()
        };
        let packed = Packed {
            ticket,
            bytes: work.bytes(&batch),
            batch,
            permit: packed.permit,
        };
        let passed = context.pass_on(&mut clock, output, ticket.step, packed, parts);
        if passed == Err(Closed) {
            return Ok(());
        }
    }
    Ok(())
}

pub(super) fn hop<P: Hop>(
    context: &Context,
    lane: usize,
    make: Make<P>,
    input: &Ring<Packed<P::Batch>>,
    output: &Ring<Packed<P::Batch>>,
) -> Result<(), Failure> {
    let mut work = made(PipelineStage::Hop, make)?;
    let mut clock = Clock::start(PipelineStage::Hop, lane);
    let mut next = output.awaited();
    // Checked before the batch is taken, because taking it is what asks the data
    // device for it.
    while context.may_make(output, next).is_ok()
        && let Ok(Some((_, packed))) = input.pop()
    {
        clock.begin_work();
        let ticket = packed.ticket;
        next = ticket.step + 1;
        let batch = work
            .hop(packed.batch)
            .map_err(|why| failed(PipelineStage::Hop, ticket, why))?;
        let packed = Packed { batch, ..packed };
        let parts = Parts::default();
        if context.pass_on(&mut clock, output, ticket.step, packed, parts) == Err(Closed) {
            return Ok(());
        }
    }
    Ok(())
}

/// Makes the work of a stage on this thread.
fn made<W>(stage: PipelineStage, make: Make<W>) -> Result<W, Failure> {
    make().map_err(|why| Failure::NotStarted { stage, why })
}

fn failed(stage: PipelineStage, ticket: Ticket, why: String) -> Failure {
    Failure::Failed {
        stage,
        step: ticket.step,
        why,
    }
}

/// A stopwatch for one thread.
struct Clock {
    stage: PipelineStage,
    worker: usize,
    last: Instant,
    wait_in: Duration,
    /// Time waited before the work, where a batch is made only on demand.
    wait_out: Duration,
}

impl Clock {
    fn start(stage: PipelineStage, worker: usize) -> Self {
        Self {
            stage,
            worker,
            last: Instant::now(),
            wait_in: Duration::ZERO,
            wait_out: Duration::ZERO,
        }
    }

    /// Marks that the input has arrived.
    fn begin_work(&mut self) {
        self.wait_in = self.lap();
    }

    /// Marks that the batch may be made, because its consumer has asked for it.
    fn end_wait_out(&mut self) {
        self.wait_out = self.lap();
    }

    /// Returns the time spent waiting for the consumer, before the work and after it.
    fn take_wait_out(&mut self) -> Duration {
        std::mem::take(&mut self.wait_out) + self.lap()
    }

    fn lap(&mut self) -> Duration {
        let now = Instant::now();
        now - std::mem::replace(&mut self.last, now)
    }
}
