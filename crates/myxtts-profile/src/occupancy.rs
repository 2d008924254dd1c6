//! How full the rings were, over time.
//!
//! An entry knows the ring at one moment only. But every batch is put into a
//! ring when its entry ends and taken out when the next stage begins to work on
//! it, so the ledger tells the number in a ring at every moment.

use std::collections::BTreeMap;

use myxtts_pipeline::{Entry, PipelineStage};
use serde::Serialize;

use crate::timeline::{Timeline, Window};

/// The number of batches that a ring held from a moment on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Sample {
    /// The moment, in microseconds since the pipeline started.
    pub at_us: u64,
    /// The number of batches from then on.
    pub batches: usize,
}

/// The use of one ring within a window.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RingUse {
    /// `host` or `device`, after the stage that fills the ring, or `model`, after the
    /// one that empties it.
    pub ring: &'static str,
    /// Which of several rings of that name; 0 where there is one.
    pub number: usize,
    /// The mean number of batches in the ring.
    pub mean: f64,
    /// The fewest batches at once.
    pub least: usize,
    /// The most batches at once.
    pub most: usize,
    /// Percent of the time that the ring was empty.
    pub empty_pct: f64,
    /// The mean in each of equal parts of the window, from its beginning to its end.
    pub over_time: Vec<f64>,
    /// Every change, for the trace and the picture.
    #[serde(skip)]
    pub samples: Vec<Sample>,
}

/// The number of parts that `over_time` divides a window into.
const PARTS: u64 = 24;

impl RingUse {
    /// Returns the use of every ring on the timeline.
    pub(crate) fn all(timeline: &Timeline, window: Window) -> Vec<Self> {
        changes(timeline.entries())
            .into_iter()
            .map(|((order, number), changes)| Self::new(NAMES[order], number, &changes, window))
            .collect()
    }

    fn new(ring: &'static str, number: usize, changes: &[(u64, i64)], window: Window) -> Self {
        let samples = samples(changes);
        let mut steps: Vec<(u64, u64, usize)> = vec![];
        for (index, sample) in samples.iter().enumerate() {
            let next = samples.get(index + 1);
            let end = next.map_or(window.end_us.max(sample.at_us), |next| next.at_us);
            steps.push((sample.at_us, end, sample.batches));
        }
        let mean_in = |window: Window| {
            let inside = steps.iter().map(|(begin, end, batches)| {
                window.share_of(*begin, *end) as f64 * *batches as f64
            });
            inside.sum::<f64>() / window.length_us().max(1) as f64
        };
        let seen = || {
            let inside = steps.iter();
            inside.filter(|(begin, end, _)| window.share_of(*begin, *end) > 0)
        };
        let known: u64 = seen()
            .map(|(begin, end, _)| window.share_of(*begin, *end))
            .sum();
        let empty: u64 = seen()
            .filter(|(.., batches)| *batches == 0)
            .map(|(begin, end, _)| window.share_of(*begin, *end))
            .sum();
        // Before its first batch a ring is empty.
        let empty = empty + window.length_us().saturating_sub(known);
        let part = |index: u64| Window {
            begin_us: window.begin_us + window.length_us() * index / PARTS,
            end_us: window.begin_us + window.length_us() * (index + 1) / PARTS,
        };
        let least = seen().map(|(.., batches)| *batches).min().unwrap_or(0);
        Self {
            ring,
            number,
            mean: mean_in(window),
            least: if known < window.length_us() { 0 } else { least },
            most: seen().map(|(.., batches)| *batches).max().unwrap_or(0),
            empty_pct: 100.0 * empty as f64 / window.length_us().max(1) as f64,
            over_time: (0..PARTS).map(|index| mean_in(part(index))).collect(),
            samples,
        }
    }
}

const NAMES: [&str; 3] = ["host", "device", "model"];

/// Returns what is put into each ring and taken out of it, by ring and its number.
fn changes(entries: &[Entry]) -> BTreeMap<(usize, usize), Vec<(u64, i64)>> {
    let has_hop = entries
        .iter()
        .any(|entry| entry.stage == PipelineStage::Hop);
    // Lanes have a host ring each where they have a data device each.
    let device_stages = entries
        .iter()
        .filter(|entry| entry.stage == PipelineStage::Device)
        .map(|entry| entry.worker + 1)
        .max()
        .unwrap_or(1);
    let host_ring = |lane: usize| if device_stages > 1 { lane } else { 0 };
    let mut changes: BTreeMap<(usize, usize), Vec<(u64, i64)>> = BTreeMap::new();
    for entry in entries {
        let taken_us = entry
            .at_us
            .saturating_sub(entry.busy_us + entry.wait_out_us);
        let (from, to) = match entry.stage {
            PipelineStage::Host => (None, Some((0, host_ring(entry.lane)))),
            PipelineStage::Device => (Some((0, host_ring(entry.lane))), Some((1, entry.lane))),
            PipelineStage::Hop => (Some((1, entry.lane)), Some((2, entry.lane))),
            PipelineStage::Model if has_hop => (Some((2, entry.lane)), None),
            PipelineStage::Model => (Some((1, entry.lane)), None),
        };
        if let Some(ring) = from {
            changes.entry(ring).or_default().push((taken_us, -1));
        }
        if let Some(ring) = to {
            changes.entry(ring).or_default().push((entry.at_us, 1));
        }
    }
    changes
}

/// Adds up the changes, into one sample per moment.
fn samples(changes: &[(u64, i64)]) -> Vec<Sample> {
    let mut changes = changes.to_vec();
    // A batch that is taken the moment it is put in was put in first.
    changes.sort_by_key(|(at, change)| (*at, -change));
    let mut samples: Vec<Sample> = vec![];
    let mut held = 0_i64;
    for (at_us, change) in changes {
        held += change;
        // A put is noted a moment after the fact, so it may come after the take.
        let batches = usize::try_from(held).unwrap_or(0);
        match samples.last_mut() {
            Some(last) if last.at_us == at_us => last.batches = batches,
            _ => samples.push(Sample { at_us, batches }),
        }
    }
    samples
}
