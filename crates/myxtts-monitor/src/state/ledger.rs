//! The stall ledger of the last batches: where each stage's time went.

use std::collections::VecDeque;

use crate::source::batch::BatchLine;

/// The number of batches of each stage that are added up: enough for a mean, few
/// enough to show what happens now.
pub(crate) const WINDOW: usize = 256;
/// Entries of several threads are written slightly out of order; a pipeline
/// that begins anew is further back than that.
const DISORDER_US: u64 = 1_000_000;

/// The last batches of every stage, in the order of the data.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Ledger {
    stages: Vec<(String, VecDeque<BatchLine>)>,
    at_us: u64,
}

/// What one stage did lately.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct StageShares {
    pub(crate) stage: String,
    pub(crate) batches: usize,
    pub(crate) threads: usize,
    /// Shares of its threads' time, from 0 to 1.
    pub(crate) busy: f64,
    pub(crate) wait_in: f64,
    pub(crate) wait_out: f64,
    /// The mean number of batches in the ring beside it.
    pub(crate) occupancy: f64,
    /// What the work consisted of, as shares of it, where the stage says.
    pub(crate) parts: Vec<(&'static str, f64)>,
}

impl Ledger {
    pub(crate) fn add(&mut self, batch: BatchLine) {
        if batch.at_us + DISORDER_US < self.at_us {
            *self = Self::default();
        }
        self.at_us = self.at_us.max(batch.at_us);
        let known = self
            .stages
            .iter()
            .position(|(name, _)| *name == batch.stage);
        let index = known.unwrap_or_else(|| {
            let place = rank(&batch.stage);
            let at = self.stages.partition_point(|(name, _)| rank(name) <= place);
            self.stages
                .insert(at, (batch.stage.clone(), VecDeque::new()));
            at
        });
        if let Some((_, batches)) = self.stages.get_mut(index) {
            if batches.len() == WINDOW {
                batches.pop_front();
            }
            batches.push_back(batch);
        }
        // A file of something else must not fill the memory with names.
        self.stages.truncate(8);
    }

    pub(crate) fn stages(&self) -> Vec<StageShares> {
        self.stages
            .iter()
            .map(|(name, of)| shares(name, of))
            .collect()
    }
}

/// Returns a stage's place in the order of the data.
fn rank(stage: &str) -> usize {
    let order = ["host", "device", "hop", "model"];
    let known = order.iter().position(|name| *name == stage);
    known.unwrap_or(order.len())
}

fn shares(name: &str, batches: &VecDeque<BatchLine>) -> StageShares {
    let sum = |of: fn(&BatchLine) -> u64| batches.iter().map(of).sum::<u64>() as f64;
    let (busy, wait_in) = (sum(|b| b.busy_us), sum(|b| b.wait_in_us));
    let (wait_out, occupancy) = (sum(|b| b.wait_out_us), sum(|b| b.occupancy));
    let whole = (busy + wait_in + wait_out).max(1.0);
    let part = |name: &'static str, of: fn(&BatchLine) -> Option<u64>| {
        let told = batches.iter().any(|batch| of(batch).is_some());
        let sum: u64 = batches.iter().filter_map(of).sum();
        told.then(|| (name, sum as f64 / busy.max(1.0)))
    };
    let mut threads: Vec<u64> = batches.iter().map(|batch| batch.worker).collect();
    threads.sort_unstable();
    threads.dedup();
    StageShares {
        stage: name.to_owned(),
        batches: batches.len(),
        threads: threads.len(),
        busy: busy / whole,
        wait_in: wait_in / whole,
        wait_out: wait_out / whole,
        occupancy: occupancy / (batches.len().max(1) as f64),
        parts: [
            part("read", |batch| batch.read_us),
            part("decode", |batch| batch.decode_us),
            part("upload", |batch| batch.upload_us),
        ]
        .into_iter()
        .flatten()
        .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(stage: &str, worker: u64, at_us: u64, times: [u64; 3]) -> BatchLine {
        BatchLine {
            stage: stage.to_owned(),
            worker,
            at_us,
            wait_in_us: times[0],
            busy_us: times[1],
            wait_out_us: times[2],
            occupancy: 2,
            ..BatchLine::default()
        }
    }

    #[test]
    fn stages_stand_in_the_order_of_the_data_with_shares_of_their_time() {
        let mut ledger = Ledger::default();
        ledger.add(batch("model", 0, 10, [10, 90, 0]));
        ledger.add(batch("host", 1, 11, [0, 30, 10]));
        ledger.add(batch("host", 0, 12, [20, 20, 20]));
        let stages = ledger.stages();
        assert_eq!(
            (stages[0].stage.as_str(), stages[1].stage.as_str()),
            ("host", "model")
        );
        assert_eq!((stages[0].threads, stages[0].batches), (2, 2));
        assert!((stages[0].busy - 0.5).abs() < 1e-9);
        assert!((stages[0].wait_out - 0.3).abs() < 1e-9);
        assert!((stages[1].wait_in - 0.1).abs() < 1e-9);
        assert!(stages[0].parts.is_empty());
    }

    #[test]
    fn only_the_last_batches_count_and_a_new_pipeline_begins_anew() {
        let mut ledger = Ledger::default();
        for at in 0..1000 {
            let busy = if at < 500 { 0 } else { 100 };
            ledger.add(batch("model", 0, at * 10_000, [100 - busy, busy, 0]));
        }
        assert_eq!(ledger.stages()[0].batches, WINDOW);
        assert!((ledger.stages()[0].busy - 1.0).abs() < 1e-9);
        ledger.add(batch("host", 0, 5, [1, 1, 1]));
        assert_eq!(ledger.stages().len(), 1);
    }

    #[test]
    fn parts_of_the_work_are_shown_where_they_are_told() {
        let mut ledger = Ledger::default();
        ledger.add(BatchLine {
            decode_us: Some(60),
            ..batch("host", 0, 0, [0, 100, 0])
        });
        assert_eq!(ledger.stages()[0].parts, [("decode", 0.6)]);
    }
}
