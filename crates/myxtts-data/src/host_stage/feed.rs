//! The host's part of the pipeline: clips of the schedule into a buffer, with
//! their codes where they are known.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use myxtts_audio::{Slowness, Spent};
use myxtts_base::report;
use myxtts_pipeline::{HostParts, HostWork, Ticket};

use super::{ClipSource, HostBatch, HostStage, Scratch};
use crate::codes::CodesCache;
use crate::schedule::{Batch, BucketShape, ClipIndex, ClipLength, Schedule};
use crate::units::{Codes, Tokens};

/// The schedule has no batch to train on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{}",
    report!(
        "the schedule has no batches: the dataset has no clip to train on";
        fix: "see report.txt of `myxtts prepare` for what became of its clips"
    )
)]
pub struct EmptySchedule;

/// A host batch, with its codes if they are known already.
#[derive(Clone, Debug)]
pub struct PreparedBatch {
    /// The waves, texts and conditioning segments.
    pub batch: HostBatch,
    codes_bm: Vec<i32>,
    has_codes: bool,
    parts: HostParts,
}

/// Compares what batches hold, not how long they took.
impl PartialEq for PreparedBatch {
    fn eq(&self, other: &Self) -> bool {
        self.batch == other.batch && self.codes_bm() == other.codes_bm()
    }
}

impl PreparedBatch {
    /// Wraps a batch whose codes are not known.
    pub fn new(batch: HostBatch) -> Self {
        Self {
            batch,
            codes_bm: vec![],
            has_codes: false,
            parts: HostParts::default(),
        }
    }

    /// Wraps a batch with the codes of every row, padded with zeros.
    pub fn with_codes(batch: HostBatch, codes_bm: Vec<i32>) -> Self {
        Self {
            batch,
            codes_bm,
            has_codes: true,
            parts: HostParts::default(),
        }
    }

    /// Returns the codes, each row padded with zeros, if every clip has them.
    pub fn codes_bm(&self) -> Option<&[i32]> {
        self.has_codes.then_some(&self.codes_bm[..])
    }
}

/// Fills batches of a schedule, on any number of threads.
#[derive(Debug)]
pub struct HostFeed<C> {
    stage: HostStage<C>,
    schedule: Arc<Schedule>,
    codes: Option<Arc<CodesCache>>,
    /// The lengths of the clips, if batches are padded to their own longest.
    tight: Option<Arc<[ClipLength]>>,
    /// An injected fault: the extra time for each clip.
    delay: Duration,
    /// One for each thread that was ever at work at the same time.
    scratches: Mutex<Vec<Scratch>>,
}

impl<C: ClipSource> HostFeed<C> {
    /// Fills batches of `schedule` from the clips of `stage`, which must be the same clips.
    /// `codes` is asked for the codes of each batch.
    pub fn new(
        stage: HostStage<C>,
        schedule: Arc<Schedule>,
        codes: Option<Arc<CodesCache>>,
    ) -> Result<Self, EmptySchedule> {
        if schedule.steps_per_epoch() == 0 {
            return Err(EmptySchedule);
        }
        Ok(Self {
            stage,
            schedule,
            codes,
            tight: None,
            delay: Duration::ZERO,
            scratches: Mutex::default(),
        })
    }

    /// Counts the batches of each replica in an epoch.
    pub fn steps_per_epoch(&self) -> u64 {
        self.schedule.steps_per_epoch()
    }

    /// Pads each batch to its own longest clip instead of the bucket: less padding, but a new
    /// shape nearly every time.
    #[must_use]
    pub fn with_tight_shapes(mut self, lengths: Arc<[ClipLength]>) -> Self {
        self.tight = Some(lengths);
        self
    }

    /// Slows loading down, and the rest of each clip by `delay`, for tests.
    #[doc(hidden)]
    #[must_use]
    pub fn slowed(mut self, slowness: Slowness, delay: Duration) -> Self {
        self.stage = self.stage.slowed(slowness);
        self.delay = delay;
        self
    }

    /// Fills the batch of a ticket, whose step counts through the epochs and whose lane is the
    /// replica.
    pub fn prepare(
        &self,
        ticket: Ticket,
        spare: Option<PreparedBatch>,
    ) -> Result<PreparedBatch, String> {
        let steps = self.schedule.steps_per_epoch();
        let (epoch, step) = (ticket.step / steps, ticket.step % steps);
        let replica = u32::try_from(ticket.lane).unwrap_or(u32::MAX);
        let batch = self.schedule.batch(epoch, step, replica);
        let batch = batch
            .ok_or_else(|| format!("the schedule has no batch for model device {}", ticket.lane))?;
        let batch = match &self.tight {
            Some(lengths) => tightened(batch, lengths),
            None => batch,
        };
        let mut filled = spare.unwrap_or_else(|| PreparedBatch::new(self.stage.buffer(&batch)));
        let mut scratch = self.take_scratch();
        let result = self
            .stage
            .fill(epoch, &batch, &mut filled.batch, &mut scratch);
        let Spent { read, decode } = scratch.take_spent();
        self.scratches
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(scratch);
        result.map_err(|why| why.to_string())?;
        if !self.delay.is_zero() {
            let clips = batch.rows.iter().flatten().count();
            sleep(self.delay * u32::try_from(clips).unwrap_or(u32::MAX));
        }
        let begin = Instant::now();
        filled.has_codes = match &self.codes {
            Some(codes) => codes
                .read(&filled.batch, &mut filled.codes_bm)
                .map_err(|why| why.to_string())?,
            None => false,
        };
        // Codes may come from the disk as well.
        let read = read + begin.elapsed();
        filled.parts = HostParts { read, decode };
        Ok(filled)
    }

    fn take_scratch(&self) -> Scratch {
        let kept = self
            .scratches
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop();
        kept.unwrap_or_else(|| self.stage.scratch())
    }
}

fn tightened(batch: Batch, lengths: &[ClipLength]) -> Batch {
    let of = |clip: &ClipIndex| lengths.get(clip.0 as usize).copied();
    let clips = || batch.rows.iter().flatten().filter_map(of);
    let shape = BucketShape {
        text: clips().map(|clip| clip.text).max().unwrap_or(Tokens(1)),
        audio: clips().map(|clip| clip.audio).max().unwrap_or(Codes(1)),
    };
    Batch { shape, ..batch }
}

impl<C: ClipSource + Send + Sync + 'static> HostWork for HostFeed<C> {
    type Buffer = PreparedBatch;

    fn fill(&self, ticket: Ticket, spare: Option<PreparedBatch>) -> Result<PreparedBatch, String> {
        self.prepare(ticket, spare)
    }

    fn bytes(&self, filled: &PreparedBatch) -> u64 {
        (filled.batch.bytes() + filled.codes_bm.capacity() * size_of::<i32>()) as u64
    }

    fn parts(&self, filled: &PreparedBatch) -> Option<HostParts> {
        Some(filled.parts)
    }
}
