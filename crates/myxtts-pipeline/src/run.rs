//! The threads and rings of a pipeline, put together.

mod lane;
mod setup;
mod threads;

use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

pub use lane::{Delivered, Lane};
pub use setup::{Setup, SetupError, Wiring};

use myxtts_base::Report;

use crate::adapt::KnobChange;
use crate::dispenser::{Dispenser, Permit, Ticket};
use crate::failure::{Failure, PipelineStage, Stop};
use crate::ledger::{Entry, Ledger, RingReport, Summary};
use crate::ring::Ring;
use crate::sync::{Arc, Mutex};
use crate::work::{DeviceStage, Hop, HostWork};
use lane::Controller;

/// A batch on its way, with its permit to be in flight.
#[derive(Debug)]
struct Packed<T> {
    ticket: Ticket,
    batch: T,
    bytes: u64,
    permit: Permit,
}

type Rings<T> = Vec<Arc<Ring<Packed<T>>>>;

/// A function that makes a stage's work on the thread that will use it.
pub type Make<W> = Box<dyn FnOnce() -> Result<W, String> + Send>;

/// A running pipeline of threads and rings.
#[derive(Debug)]
pub struct Pipeline {
    stop: Stop,
    ledger: Arc<Ledger>,
    dispenser: Arc<Dispenser>,
    threads: Vec<JoinHandle<()>>,
    rings: Vec<RingOf>,
    changes: Receiver<KnobChange>,
}

/// A pipeline, and the lanes that deliver its batches.
pub type Started<T> = (Pipeline, Vec<Lane<T>>);

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The ledger, added up.
    pub summary: Summary,
    /// The first failure; `None` when the run reached its end.
    pub failure: Option<Failure>,
    /// Why `ledger.jsonl` is incomplete, if it is.
    pub ledger_lost: Option<Report>,
    /// Every entry, if the ledger keeps them.
    pub entries: Vec<Entry>,
}

/// A function that reports on a ring, whatever the ring carries.
struct RingOf(Box<dyn Fn() -> RingReport + Send + Sync>);

impl std::fmt::Debug for RingOf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        (self.0)().fmt(f)
    }
}

impl Pipeline {
    /// Starts the data side. `device_stages` makes the work of each device stage; `hops` makes
    /// the hop of each lane, and is empty where data and model share a device.
    pub fn start<H, S, P>(
        setup: &Setup,
        host: H,
        device_stages: Vec<Make<S>>,
        hops: Vec<Make<P>>,
        ledger: Ledger,
    ) -> Result<Started<S::Batch>, SetupError>
    where
        H: HostWork,
        S: DeviceStage<Buffer = H::Buffer> + 'static,
        P: Hop<Batch = S::Batch> + 'static,
    {
        setup.check(device_stages.len(), hops.len())?;
        let lanes = setup.wiring.lanes;
        let stop = Stop::new();
        let ledger = Arc::new(ledger);
        let dispenser = Dispenser::new(
            setup.first_step,
            setup.end_step,
            lanes,
            setup.knobs.in_flight,
            setup.knobs.workers,
        );
        let closing = Arc::clone(&dispenser);
        stop.on_stop(move || closing.close());

        let mut pipeline = Self {
            stop: stop.clone(),
            ledger: Arc::clone(&ledger),
            dispenser: Arc::clone(&dispenser),
            threads: vec![],
            rings: vec![],
            changes: channel().1,
        };
        let host_rings: Rings<H::Buffer> = (0..device_stages.len())
            .map(|_| {
                let per_step = if setup.wiring.shared_data_device {
                    lanes as u64
                } else {
                    1
                };
                pipeline.ring("host", setup, setup.host_ring, per_step)
            })
            .collect();
        let device_rings: Rings<S::Batch> = (0..lanes)
            .map(|_| pipeline.ring("device", setup, setup.device_ring, 1))
            .collect();
        let model_rings: Rings<S::Batch> = if hops.is_empty() {
            device_rings.clone()
        } else {
            (0..lanes)
                .map(|_| pipeline.ring("model", setup, setup.model_ring, 1))
                .collect()
        };

        let context = threads::Context {
            stop: stop.clone(),
            ledger: Arc::clone(&ledger),
            lanes: lanes as u64,
            shared_data_device: setup.wiring.shared_data_device,
            on_demand: setup.is_on_demand(),
        };
        let host = Arc::new(host);
        let spares = Arc::new(Mutex::new(Vec::new()));
        for worker in 0..setup.bounds.most.workers.max(setup.knobs.workers) {
            let (host, spares) = (Arc::clone(&host), Arc::clone(&spares));
            let (dispenser, rings) = (Arc::clone(&dispenser), host_rings.clone());
            pipeline.spawn(&context, PipelineStage::Host, worker, move |context| {
                threads::host(context, worker, &*host, &dispenser, &spares, &rings)
            })?;
        }
        for (device_stage, make) in device_stages.into_iter().enumerate() {
            let (input, spares) = (Arc::clone(&host_rings[device_stage]), Arc::clone(&spares));
            let outputs = device_rings.clone();
            pipeline.spawn(
                &context,
                PipelineStage::Device,
                device_stage,
                move |context| {
                    threads::device_stage(context, device_stage, make, &input, &spares, &outputs)
                },
            )?;
        }
        for (lane, make) in hops.into_iter().enumerate() {
            let (input, output) = (
                Arc::clone(&device_rings[lane]),
                Arc::clone(&model_rings[lane]),
            );
            pipeline.spawn(&context, PipelineStage::Hop, lane, move |context| {
                threads::hop(context, lane, make, &input, &output)
            })?;
        }

        let (sender, changes) = channel();
        pipeline.changes = changes;
        // Without a hop the two are the same rings.
        let deep: Vec<_> = device_rings.iter().chain(&model_rings).cloned().collect();
        let controller = Controller::new(setup, &dispenser, &ledger, sender, move |ring_depth| {
            for ring in &deep {
                ring.set_batches(ring_depth);
            }
        });
        let mut controller = Some(controller);
        let lanes = model_rings
            .into_iter()
            .enumerate()
            .map(|(lane, ring)| {
                let controller = (lane == 0).then(|| controller.take()).flatten();
                Lane::new(lane, ring, Arc::clone(&ledger), stop.clone(), controller)
            })
            .collect();
        Ok((pipeline, lanes))
    }

    /// Returns the switch that ends the run.
    pub fn stop(&self) -> &Stop {
        &self.stop
    }

    /// Returns the number of batches in flight now, and the most there have been.
    pub fn in_flight(&self) -> (usize, usize) {
        self.dispenser.in_flight()
    }

    /// Returns what smart prefetch has changed since the last call.
    pub fn changes(&self) -> Vec<KnobChange> {
        self.changes.try_iter().collect()
    }

    /// Returns the ledger's sums so far.
    pub fn summary(&self) -> Summary {
        self.ledger
            .summary(self.rings.iter().map(|ring| (ring.0)()).collect())
    }

    /// Ends the run, wherever it is, and waits for every thread.
    pub fn finish(mut self) -> Outcome {
        // Asked first: from here on there is always a reason to stop.
        let failure = self.stop.first();
        self.join();
        Outcome {
            failure: failure.or_else(|| self.stop.first().filter(|f| *f != Failure::Requested)),
            ledger_lost: self.ledger.finish().err(),
            summary: self.summary(),
            entries: self.ledger.take_entries(),
        }
    }

    /// Like [`finish`](Self::finish), but a thread that has not ended after
    /// `patience` is left to itself: it may be reading from a disk that does not
    /// answer. For a process that is about to end.
    pub fn leave(mut self, patience: Duration) -> Outcome {
        let begin = Instant::now();
        self.stop.fail(Failure::Requested);
        while begin.elapsed() < patience && self.threads.iter().any(|t| !t.is_finished()) {
            std::thread::sleep(Duration::from_millis(5));
        }
        self.threads.retain(JoinHandle::is_finished);
        self.finish()
    }

    fn join(&mut self) {
        self.stop.fail(Failure::Requested);
        for thread in self.threads.drain(..) {
            // A panic was caught inside the thread, and is the failure already.
            let _ = thread.join();
        }
    }

    fn ring<T: Send + 'static>(
        &mut self,
        name: &'static str,
        setup: &Setup,
        bounds: crate::RingBounds,
        per_step: u64,
    ) -> Arc<Ring<Packed<T>>> {
        let ring = Arc::new(Ring::new(name, bounds, setup.first_step * per_step));
        ring.end(setup.end_step * per_step);
        let (closing, shown) = (Arc::clone(&ring), Arc::clone(&ring));
        self.stop.on_stop(move || closing.close());
        self.rings.push(RingOf(Box::new(move || {
            RingReport::new(shown.name(), &shown.state())
        })));
        ring
    }

    fn spawn(
        &mut self,
        context: &threads::Context,
        stage: PipelineStage,
        number: usize,
        body: impl FnOnce(&threads::Context) -> Result<(), Failure> + Send + 'static,
    ) -> Result<(), SetupError> {
        let context = context.clone();
        let thread = std::thread::Builder::new()
            .name(format!("{stage}-{number}"))
            .spawn(move || threads::guarded(&context, stage, body))
            .map_err(|why| SetupError::Thread {
                stage,
                why: why.to_string(),
            })?;
        self.threads.push(thread);
        Ok(())
    }
}

impl Drop for Pipeline {
    fn drop(&mut self) {
        self.join();
    }
}
