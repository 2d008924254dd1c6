//! The ledger: where the time of every stage went.
//!
//! Each thread notes one entry per batch. Entries are added up at once, for the
//! summary and for smart prefetch, and written to `ledger.jsonl` by a thread of
//! its own, so that a stage pays only for one short lock.
//!
//! The file continues from stage to stage of a training, and when the training is
//! resumed. `step` counts batches of the training stage `trains`, and `at_us`
//! starts over with each pipeline: where it falls, another one has begun.

mod summary;
mod writer;

use std::collections::BTreeMap;
use std::io::Write;
use std::time::{Duration, Instant};

use myxtts_base::Report;
use serde::Serialize;

pub use summary::{RingReport, StageReport, Summary};
use writer::Writer;

use crate::adapt::WaitShares;
use crate::failure::PipelineStage;
use crate::sync::{Mutex, lock};

/// What one batch took in one stage.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Entry {
    /// The stage that the batch passed through.
    pub stage: PipelineStage,
    /// The number of the stage's thread.
    pub worker: usize,
    /// The step of the batch.
    pub step: u64,
    /// The lane of the batch.
    pub lane: usize,
    /// Microseconds from the start of the pipeline to the end of this entry.
    pub at_us: u64,
    /// Microseconds spent waiting for input.
    pub wait_in_us: u64,
    /// Microseconds spent on the work itself.
    pub busy_us: u64,
    /// Microseconds spent waiting for room.
    pub wait_out_us: u64,
    /// Size of the batch produced, in bytes.
    pub bytes: u64,
    /// Batches in the ring it was put into, or, for the model, taken from.
    pub occupancy: usize,
    /// Microseconds of the work spent reading files. Host stage only, and absent
    /// where the stage does not report it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_us: Option<u64>,
    /// Microseconds of the work spent decoding them, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decode_us: Option<u64>,
    /// Microseconds of the work spent handing values to the device; device stage only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upload_us: Option<u64>,
    /// The training stage that the batch is for, since a training has several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trains: Option<&'static str>,
}

impl Entry {
    /// Makes an entry of a batch that nothing has happened to yet.
    pub fn new(stage: PipelineStage, worker: usize, step: u64, lane: usize) -> Self {
        Self {
            stage,
            worker,
            step,
            lane,
            at_us: 0,
            wait_in_us: 0,
            busy_us: 0,
            wait_out_us: 0,
            bytes: 0,
            occupancy: 0,
            read_us: None,
            decode_us: None,
            upload_us: None,
            trains: None,
        }
    }
}

/// The ledger of one run.
#[derive(Debug)]
pub struct Ledger {
    begin: Instant,
    inner: Mutex<Inner>,
    writer: Option<Writer>,
    trains: Option<&'static str>,
}

#[derive(Debug, Default)]
struct Inner {
    total: Sums,
    window: Sums,
    window_begin: Option<Instant>,
    /// Time spent in `note` itself.
    cost: Duration,
    /// All entries, if they are kept.
    entries: Option<Vec<Entry>>,
}

#[derive(Clone, Debug, Default)]
struct Sums {
    stages: BTreeMap<PipelineStage, StageSums>,
}

/// What the threads of one stage did together.
#[derive(Clone, Copy, Debug, Default)]
struct StageSums {
    batches: u64,
    wait_in_us: u64,
    busy_us: u64,
    wait_out_us: u64,
    bytes: u64,
    occupancy: u64,
    longest_wait_us: u64,
    /// One bit for each thread that noted something.
    threads: u128,
}

impl Ledger {
    /// Makes a ledger that only adds up.
    pub fn in_memory() -> Self {
        Self {
            begin: Instant::now(),
            inner: Mutex::new(Inner::default()),
            writer: None,
            trains: None,
        }
    }

    /// Keeps every entry for whoever ends the run. A long run writes them instead.
    #[must_use]
    pub fn keeping(self) -> Self {
        lock(&self.inner).entries = Some(vec![]);
        self
    }

    /// Names the training stage that the batches are for.
    #[must_use]
    pub fn of(self, trains: &'static str) -> Self {
        Self {
            trains: Some(trains),
            ..self
        }
    }

    /// Makes a ledger that is also written, one JSON line per entry.
    pub fn written(out: impl Write + Send + 'static) -> Self {
        Self {
            writer: Some(Writer::start(out)),
            ..Self::in_memory()
        }
    }

    /// Notes an entry; `at_us` and `trains` are filled in here.
    pub fn note(&self, mut entry: Entry) {
        let begin = Instant::now();
        entry.at_us = microseconds(self.begin.elapsed());
        entry.trains = self.trains;
        if let Some(writer) = &self.writer {
            writer.send(entry);
        }
        let mut inner = lock(&self.inner);
        inner.total.add(&entry);
        inner.window.add(&entry);
        inner.window_begin.get_or_insert(begin);
        if let Some(entries) = &mut inner.entries {
            entries.push(entry);
        }
        inner.cost += begin.elapsed();
    }

    /// Returns what happened since the last call, for smart prefetch.
    pub(crate) fn take_wait_shares(&self, lanes: usize, workers: usize) -> WaitShares {
        let mut inner = lock(&self.inner);
        let sums = std::mem::take(&mut inner.window);
        let begin = inner.window_begin.replace(Instant::now());
        drop(inner);
        let wall = begin
            .map_or(Duration::ZERO, |begin| begin.elapsed())
            .as_secs_f64();
        sums.window(wall, lanes, workers)
    }

    /// Returns the sums so far, and what the ledger itself cost.
    pub(crate) fn summary(&self, rings: Vec<RingReport>) -> Summary {
        let inner = lock(&self.inner);
        Summary::new(&inner.total, self.begin.elapsed(), inner.cost, rings)
    }

    /// Takes the entries that were kept.
    pub(crate) fn take_entries(&self) -> Vec<Entry> {
        lock(&self.inner).entries.take().unwrap_or_default()
    }

    /// Writes what is left, and returns the first error of the file, if there was one.
    pub fn finish(&self) -> Result<(), Report> {
        self.writer.as_ref().map_or(Ok(()), Writer::finish)
    }
}

impl Sums {
    fn add(&mut self, entry: &Entry) {
        let sums = self.stages.entry(entry.stage).or_default();
        sums.batches += 1;
        sums.wait_in_us += entry.wait_in_us;
        sums.busy_us += entry.busy_us;
        sums.wait_out_us += entry.wait_out_us;
        sums.bytes += entry.bytes;
        sums.occupancy += entry.occupancy as u64;
        sums.longest_wait_us = sums.longest_wait_us.max(entry.wait_in_us);
        sums.threads |= 1_u128 << (entry.worker % 128);
    }

    fn window(&self, wall: f64, lanes: usize, workers: usize) -> WaitShares {
        let of = |stage: PipelineStage| self.stages.get(&stage).copied().unwrap_or_default();
        let (host, device, model) = (
            of(PipelineStage::Host),
            of(PipelineStage::Device),
            of(PipelineStage::Model),
        );
        let share = |us: u64, threads: usize| {
            if wall > 0.0 {
                us as f64 / 1e6 / wall / threads.max(1) as f64
            } else {
                0.0
            }
        };
        let steps = model.batches / lanes.max(1) as u64;
        let mean_step = wall * 1e6 / steps.max(1) as f64;
        WaitShares {
            steps,
            model_wait: share(model.wait_in_us, lanes),
            device_wait: share(device.wait_in_us, device.threads.count_ones() as usize),
            device_busy: share(device.busy_us, device.threads.count_ones() as usize),
            host_wait: share(host.wait_in_us + host.wait_out_us, workers),
            longest_wait: if mean_step > 0.0 {
                model.longest_wait_us as f64 / mean_step
            } else {
                0.0
            },
        }
    }
}

/// Converts a duration to whole microseconds.
pub(crate) fn microseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
