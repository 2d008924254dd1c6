//! What each stage took, batch by batch, and what its threads did meanwhile.

use myxtts_pipeline::{Entry, PipelineStage};
use serde::Serialize;

use crate::spread::Spread;
use crate::timeline::{Kind, Timeline, Window};

/// The times of one stage within a window.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StageTimes {
    /// The stage that was measured.
    pub stage: PipelineStage,
    /// The number of threads that did something in the window.
    pub threads: usize,
    /// Work on a batch, for batches that ended in the window.
    pub busy: Spread,
    /// Waiting for the input of such a batch.
    pub wait_in: Spread,
    /// Waiting for room for such a batch.
    pub wait_out: Spread,
    /// Seconds of work in the window, over all threads. A batch that was begun
    /// before the window, or ended after it, counts in part.
    pub busy_s: f64,
    /// Seconds of waiting for input, counted the same way.
    pub wait_in_s: f64,
    /// Seconds of waiting for room, counted the same way.
    pub wait_out_s: f64,
    /// Seconds in which threads had nothing left to make, or had not started yet.
    pub idle_s: f64,
    /// The bytes of the batches that ended in the window.
    pub bytes: u64,
}

impl StageTimes {
    /// Returns the times of every stage on the timeline, in the order of the data.
    pub(crate) fn all(timeline: &Timeline, window: Window) -> Vec<Self> {
        let stages = [
            PipelineStage::Host,
            PipelineStage::Device,
            PipelineStage::Hop,
            PipelineStage::Model,
        ];
        stages
            .into_iter()
            .filter_map(|stage| Self::of(stage, timeline, window))
            .collect()
    }

    fn of(stage: PipelineStage, timeline: &Timeline, window: Window) -> Option<Self> {
        let is_inside = |at_us: u64| window.begin_us < at_us && at_us <= window.end_us;
        let entries = timeline.entries().iter();
        let ended: Vec<_> = entries
            .filter(|entry| entry.stage == stage && is_inside(entry.at_us))
            .collect();
        let seconds = |us: u64| us as f64 / 1e6;
        let spread = |of: fn(&Entry) -> u64| {
            let times = ended.iter().map(|entry| seconds(of(entry)));
            Spread::of(&times.collect::<Vec<_>>())
        };
        let mut sums = [0_u64; 3];
        let mut threads = 0;
        let of_stage = timeline
            .threads()
            .filter(|(thread, _)| thread.stage == stage);
        let mut is_there = false;
        for (_, spans) in of_stage {
            is_there = true;
            let before: u64 = sums.iter().sum();
            for span in spans {
                let index = match span.kind {
                    Kind::WaitIn => 0,
                    Kind::Busy => 1,
                    Kind::WaitOut => 2,
                };
                sums[index] += window.share_of(span.begin_us, span.end_us);
            }
            threads += usize::from(sums.iter().sum::<u64>() > before);
        }
        let noted: u64 = sums.iter().sum();
        let lived = threads as u64 * window.length_us();
        is_there.then(|| Self {
            stage,
            threads,
            busy: spread(|entry| entry.busy_us),
            wait_in: spread(|entry| entry.wait_in_us),
            wait_out: spread(|entry| entry.wait_out_us),
            busy_s: seconds(sums[1]),
            wait_in_s: seconds(sums[0]),
            wait_out_s: seconds(sums[2]),
            idle_s: seconds(lived.saturating_sub(noted)),
            bytes: ended.iter().map(|entry| entry.bytes).sum(),
        })
    }

    /// Returns the shortest time in which its threads can make a batch, in seconds:
    /// what a batch takes at least where this stage is the slowest.
    pub(crate) fn least_s(&self) -> f64 {
        self.busy.mean_s / self.threads.max(1) as f64
    }
}
