//! A pipeline of numbers: the host squares, the device adds one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use myxtts_pipeline::*;

type Behaviour = Arc<dyn Fn(Ticket) -> Result<(), String> + Send + Sync>;

#[derive(Clone)]
pub(crate) struct Numbers {
    pub(crate) before: Behaviour,
    pub(crate) bytes: u64,
}

impl Default for Numbers {
    fn default() -> Self {
        Self {
            before: Arc::new(|_| Ok(())),
            bytes: 10,
        }
    }
}

impl HostWork for Numbers {
    type Buffer = Vec<u64>;

    fn fill(&self, ticket: Ticket, spare: Option<Vec<u64>>) -> Result<Vec<u64>, String> {
        (self.before)(ticket)?;
        let mut buffer = spare.unwrap_or_default();
        buffer.clear();
        buffer.push(value(ticket));
        Ok(buffer)
    }

    fn bytes(&self, _: &Vec<u64>) -> u64 {
        self.bytes
    }
}

pub(crate) fn value(ticket: Ticket) -> u64 {
    ticket.step * ticket.step + 1_000_000 * ticket.lane as u64
}

pub(crate) struct AddOne(pub(crate) Arc<dyn Fn(Ticket) -> Result<(), String> + Send + Sync>);

impl DeviceStage for AddOne {
    type Buffer = Vec<u64>;
    type Batch = u64;

    fn process(&mut self, ticket: Ticket, buffer: &Vec<u64>) -> Result<u64, String> {
        (self.0)(ticket)?;
        Ok(buffer[0] + 1)
    }

    fn bytes(&self, _: &u64) -> u64 {
        8
    }
}

pub(crate) struct Carry;

impl Hop for Carry {
    type Batch = u64;

    fn hop(&mut self, batch: u64) -> Result<u64, String> {
        Ok(batch)
    }
}

pub(crate) fn setup(lanes: usize, shared_data_device: bool, workers: usize, steps: u64) -> Setup {
    let knobs = Knobs {
        workers,
        in_flight: 6 * lanes,
        ring_depth: 3,
    };
    let ring = RingBounds {
        batches: 4,
        bytes: 1000,
        largest: 10,
    };
    Setup {
        wiring: Wiring {
            lanes,
            shared_data_device,
        },
        first_step: 0,
        end_step: steps,
        knobs,
        bounds: Bounds {
            least: knobs,
            most: knobs,
        },
        host_ring: ring,
        device_ring: RingBounds { batches: 3, ..ring },
        model_ring: RingBounds { batches: 2, ..ring },
    }
}

pub(crate) fn start(setup: &Setup, host: Numbers, hop: bool) -> Started<u64> {
    start_with(setup, host, hop, Arc::new(|_| Ok(())))
}

pub(crate) fn start_with(
    setup: &Setup,
    host: Numbers,
    hop: bool,
    device: Arc<dyn Fn(Ticket) -> Result<(), String> + Send + Sync>,
) -> Started<u64> {
    let device_stages = if setup.wiring.shared_data_device {
        1
    } else {
        setup.wiring.lanes
    };
    let device_stages = (0..device_stages)
        .map(|_| {
            let device = Arc::clone(&device);
            let make: Make<AddOne> = Box::new(move || Ok(AddOne(device)));
            make
        })
        .collect();
    let hops = (0..if hop { setup.wiring.lanes } else { 0 })
        .map(|_| {
            let make: Make<Carry> = Box::new(|| Ok(Carry));
            make
        })
        .collect();
    Pipeline::start(setup, host, device_stages, hops, Ledger::in_memory()).unwrap()
}

/// Everything each lane gets, lanes in lockstep as replicas are.
pub(crate) fn drain(lanes: &mut [Lane<u64>]) -> Result<Vec<Vec<(u64, u64)>>, Failure> {
    let mut seen = vec![vec![]; lanes.len()];
    loop {
        let mut held = vec![];
        for (lane, mine) in lanes.iter_mut().zip(&mut seen) {
            match lane.next()? {
                Some(delivered) => {
                    mine.push((delivered.step, delivered.batch));
                    held.push(delivered);
                }
                None => return Ok(seen),
            }
        }
    }
}

/// A number that looks random, the same in every run.
pub(crate) fn noise(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z ^ (z >> 27)
}

/// Takes a time that depends on the batch.
pub(crate) fn jitter() -> Behaviour {
    let count = AtomicU64::new(0);
    Arc::new(move |ticket| {
        let drawn = noise(ticket.step ^ (count.fetch_add(1, Ordering::Relaxed) << 32));
        std::thread::sleep(Duration::from_micros(drawn % 900));
        Ok(())
    })
}
