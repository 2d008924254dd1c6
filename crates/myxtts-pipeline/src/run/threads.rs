//! What each thread does.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use super::{Make, Packed, Rings};
use crate::dispenser::{Dispenser, Ticket};
use crate::failure::{Failure, Stage, Stop, panic_words};
use crate::ledger::{Entry, Ledger, microseconds};
use crate::ring::{Closed, Ring};
use crate::sync::{Arc, Mutex, lock};
use crate::work::{Cancel, Hop, HostWork, SiteWork};

/// What every thread has.
#[derive(Clone, Debug)]
pub(super) struct Context {
    pub(super) stop: Stop,
    pub(super) ledger: Arc<Ledger>,
    pub(super) lanes: u64,
    pub(super) shared_site: bool,
}

impl Context {
    /// A batch's place in the host ring, and which ring that is.
    fn host_place(&self, ticket: Ticket) -> (usize, u64) {
        if self.shared_site {
            (0, ticket.step * self.lanes + ticket.lane as u64)
        } else {
            (ticket.lane, ticket.step)
        }
    }
}

/// Runs a thread's body; a failure or a panic ends the whole run.
pub(super) fn guarded(
    context: &Context,
    stage: Stage,
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
    let cancel = Cancel(context.stop.clone());
    let mut clock = Clock::start();
    while let Some((ticket, permit)) = Dispenser::take(dispenser, worker) {
        let wait_in = clock.lap();
        let spare = lock(spares).pop();
        let batch = match work.fill(ticket, spare, &cancel) {
            Ok(batch) => batch,
            // Whatever a cancelled worker says is not why the run ended.
            Err(_) if cancel.is_cancelled() => return Ok(()),
            Err(why) => return Err(failed(Stage::Host, ticket, why)),
        };
        let bytes = work.bytes(&batch);
        let busy = clock.lap();
        let (ring, sequence) = context.host_place(ticket);
        let packed = Packed {
            ticket,
            batch,
            bytes,
            permit,
        };
        if rings[ring].push(sequence, packed, bytes) == Err(Closed) {
            return Ok(());
        }
        let times = Times {
            wait_in,
            busy,
            wait_out: clock.lap(),
        };
        note(
            context,
            Stage::Host,
            worker,
            ticket,
            times,
            bytes,
            &rings[ring],
        );
    }
    Ok(())
}

pub(super) fn site<S: SiteWork>(
    context: &Context,
    number: usize,
    make: Make<S>,
    input: &Ring<Packed<S::Buffer>>,
    spares: &Mutex<Vec<S::Buffer>>,
    outputs: &Rings<S::Batch>,
) -> Result<(), Failure> {
    let mut work = make().map_err(|why| Failure::NotStarted {
        stage: Stage::Device,
        why,
    })?;
    let mut clock = Clock::start();
    while let Ok(Some((_, packed))) = input.pop() {
        let Packed {
            ticket,
            batch: buffer,
            permit,
            ..
        } = packed;
        let wait_in = clock.lap();
        let batch = work
            .process(ticket, &buffer)
            .map_err(|why| failed(Stage::Device, ticket, why))?;
        lock(spares).push(buffer);
        let bytes = work.bytes(&batch);
        let busy = clock.lap();
        let output = &outputs[ticket.lane];
        let packed = Packed {
            ticket,
            batch,
            bytes,
            permit,
        };
        if output.push(ticket.step, packed, bytes) == Err(Closed) {
            return Ok(());
        }
        let times = Times {
            wait_in,
            busy,
            wait_out: clock.lap(),
        };
        note(context, Stage::Device, number, ticket, times, bytes, output);
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
    let mut work = make().map_err(|why| Failure::NotStarted {
        stage: Stage::Hop,
        why,
    })?;
    let mut clock = Clock::start();
    while let Ok(Some((_, packed))) = input.pop() {
        let Packed {
            ticket,
            batch,
            bytes,
            permit,
        } = packed;
        let wait_in = clock.lap();
        let batch = work
            .hop(batch)
            .map_err(|why| failed(Stage::Hop, ticket, why))?;
        let busy = clock.lap();
        let packed = Packed {
            ticket,
            batch,
            bytes,
            permit,
        };
        if output.push(ticket.step, packed, bytes) == Err(Closed) {
            return Ok(());
        }
        let times = Times {
            wait_in,
            busy,
            wait_out: clock.lap(),
        };
        note(context, Stage::Hop, lane, ticket, times, bytes, output);
    }
    Ok(())
}

/// Time since the last lap.
struct Clock(Instant);

impl Clock {
    fn start() -> Self {
        Self(Instant::now())
    }

    fn lap(&mut self) -> Duration {
        let now = Instant::now();
        now - std::mem::replace(&mut self.0, now)
    }
}

struct Times {
    wait_in: Duration,
    busy: Duration,
    wait_out: Duration,
}

fn note<T>(
    context: &Context,
    stage: Stage,
    worker: usize,
    ticket: Ticket,
    times: Times,
    bytes: u64,
    ring: &Ring<T>,
) {
    context.ledger.note(Entry {
        stage,
        worker,
        step: ticket.step,
        lane: ticket.lane,
        at_us: 0,
        wait_in_us: microseconds(times.wait_in),
        busy_us: microseconds(times.busy),
        wait_out_us: microseconds(times.wait_out),
        bytes,
        occupancy: ring.state().batches,
    });
}

fn failed(stage: Stage, ticket: Ticket, why: String) -> Failure {
    Failure::Failed {
        stage,
        step: ticket.step,
        why,
    }
}
