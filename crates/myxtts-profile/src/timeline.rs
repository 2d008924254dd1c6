//! The ledger as spans of time, thread by thread.
//!
//! An entry says when it ended and how long its parts were, so its spans are
//! laid out backwards from its end: waiting for input, work, waiting for room.
//! Where batches are made only when asked for, the wait for room came before
//! the work; the order is not on the ledger, and the lengths are the same.

use std::collections::BTreeMap;

use myxtts_pipeline::{Entry, PipelineStage};
use serde::Serialize;

/// A thread of the pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct Thread {
    /// The stage it belongs to.
    pub(crate) stage: PipelineStage,
    /// Its number within the stage.
    pub(crate) worker: usize,
}

impl std::fmt::Display for Thread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.stage, self.worker)
    }
}

/// What a thread did for some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Waited for something to work on.
    WaitIn,
    /// Worked on a batch.
    Busy,
    /// Waited for room in the ring behind it.
    WaitOut,
}

impl Kind {
    /// Returns the name as people read it.
    pub fn name(self) -> &'static str {
        match self {
            Self::WaitIn => "wait for input",
            Self::Busy => "work",
            Self::WaitOut => "wait for room",
        }
    }
}

/// A stretch of one thread's time; microseconds since the pipeline started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    /// The thread whose time it is.
    pub(crate) thread: Thread,
    /// What the thread did.
    pub(crate) kind: Kind,
    /// The moment it begins.
    pub(crate) begin_us: u64,
    /// The moment it ends.
    pub(crate) end_us: u64,
    /// The step of the batch.
    pub(crate) step: u64,
    /// The lane of the batch.
    pub(crate) lane: usize,
    /// The bytes of the batch.
    pub(crate) bytes: u64,
}

impl Span {
    /// Returns the length in microseconds.
    pub(crate) fn length_us(&self) -> u64 {
        self.end_us - self.begin_us
    }
}

/// The stretch of time that is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Window {
    /// The moment it begins, in microseconds since the pipeline started.
    pub(crate) begin_us: u64,
    /// The moment it ends, in the same unit.
    pub(crate) end_us: u64,
}

impl Window {
    /// Returns the length in microseconds.
    pub(crate) fn length_us(&self) -> u64 {
        self.end_us.saturating_sub(self.begin_us)
    }

    /// Returns the length in seconds.
    pub fn seconds(&self) -> f64 {
        self.length_us() as f64 / 1e6
    }

    /// Returns how much of a stretch lies inside, in microseconds.
    pub(crate) fn share_of(&self, begin_us: u64, end_us: u64) -> u64 {
        let (begin, end) = (begin_us.max(self.begin_us), end_us.min(self.end_us));
        end.saturating_sub(begin)
    }
}

/// Spans by thread, in order and without overlap.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline {
    threads: BTreeMap<Thread, Vec<Span>>,
    entries: Vec<Entry>,
}

impl Timeline {
    /// Lays out the entries of a ledger, which may come in any order.
    pub(crate) fn of(entries: &[Entry]) -> Self {
        let mut entries = entries.to_vec();
        entries.sort_by_key(|entry| (entry.at_us, entry.stage, entry.worker));
        let mut threads: BTreeMap<Thread, Vec<Span>> = BTreeMap::new();
        for entry in &entries {
            let thread = Thread {
                stage: entry.stage,
                worker: entry.worker,
            };
            let spans = threads.entry(thread).or_default();
            // An entry is noted a moment after it ends, so the next one, laid
            // out from its own end, may seem to begin before it.
            let least = spans.last().map_or(0, |span| span.end_us);
            let busy_begin = entry
                .at_us
                .saturating_sub(entry.wait_out_us + entry.busy_us);
            let ends = [
                (Kind::WaitIn, busy_begin.saturating_sub(entry.wait_in_us)),
                (Kind::Busy, busy_begin),
                (Kind::WaitOut, entry.at_us.saturating_sub(entry.wait_out_us)),
            ];
            for (index, (kind, begin)) in ends.into_iter().enumerate() {
                let end = ends.get(index + 1).map_or(entry.at_us, |(_, next)| *next);
                let (begin, end) = (begin.max(least), end.max(least));
                if end > begin {
                    spans.push(Span {
                        thread,
                        kind,
                        begin_us: begin,
                        end_us: end,
                        step: entry.step,
                        lane: entry.lane,
                        bytes: entry.bytes,
                    });
                }
            }
        }
        Self { threads, entries }
    }

    /// Returns the threads and their spans, in the order of the data.
    pub(crate) fn threads(&self) -> impl Iterator<Item = (Thread, &[Span])> {
        self.threads
            .iter()
            .map(|(thread, spans)| (*thread, spans.as_slice()))
    }

    /// Returns the entries, in the order of their ends.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Returns the window in which the model had the batches from `first` on; an empty
    /// one if there were none.
    pub(crate) fn window_from(&self, first: u64) -> Window {
        let measured = self
            .entries
            .iter()
            .filter(|entry| entry.stage == PipelineStage::Model && entry.step >= first);
        let mut window: Option<Window> = None;
        for entry in measured {
            let begin_us = entry.at_us.saturating_sub(entry.busy_us + entry.wait_in_us);
            let (begin, end) = window.map_or((begin_us, entry.at_us), |window| {
                (
                    window.begin_us.min(begin_us),
                    window.end_us.max(entry.at_us),
                )
            });
            window = Some(Window {
                begin_us: begin,
                end_us: end,
            });
        }
        window.unwrap_or(Window {
            begin_us: 0,
            end_us: 0,
        })
    }
}
