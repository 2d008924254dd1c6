//! Lines of `ledger.jsonl`.

use serde::Deserialize;

use super::{SHORT, WARM_UP};
use crate::signal::Signal;
use crate::signals::{PipelineSignals, StageSignals};
use crate::units::{Seconds, Share};

/// Threads note their entries one after the other, and may be this late.
const LATE_US: u64 = 500_000;
/// A batch that came within this time was ready.
const AT_ONCE_US: u64 = 1_000;

/// A stage of the pipeline, as the ledger names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "`PipelineSignals` says what each stage is")]
pub enum LedgerStage {
    Host,
    Device,
    Hop,
    Model,
}

/// One line of `ledger.jsonl`: a batch in a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[expect(
    missing_docs,
    reason = "`myxtts_pipeline::Entry` says what each field is"
)]
pub struct LedgerLine {
    pub stage: LedgerStage,
    pub worker: usize,
    pub step: u64,
    #[serde(default)]
    pub lane: usize,
    pub at_us: u64,
    pub wait_in_us: u64,
    pub busy_us: u64,
    pub wait_out_us: u64,
    #[serde(default)]
    pub read_us: Option<u64>,
    #[serde(default)]
    pub decode_us: Option<u64>,
    #[serde(default)]
    pub upload_us: Option<u64>,
}

/// The entries of the newest pipeline, added up.
#[derive(Clone, Debug, Default)]
pub(super) struct LedgerFold {
    last_at_us: u64,
    first_step: Option<u64>,
    /// Sums of all entries; `warm` has those after the warm-up.
    all: Totals,
    warm: Totals,
}

#[derive(Clone, Debug, Default)]
struct Totals {
    stages: [StageTotals; 4],
    read: Part,
    decode: Part,
    upload: Part,
    at_once: u64,
    /// A bit for each lane that was seen.
    lanes: u128,
}

#[derive(Clone, Copy, Debug, Default)]
struct StageTotals {
    batches: u64,
    busy_us: u64,
    wait_in_us: u64,
    wait_out_us: u64,
    /// A bit for each thread that was seen.
    threads: u128,
}

#[derive(Clone, Copy, Debug, Default)]
struct Part {
    us: u64,
    batches: u64,
}

impl Part {
    fn add(&mut self, us: Option<u64>) {
        if let Some(us) = us {
            self.us = self.us.saturating_add(us);
            self.batches += 1;
        }
    }
}

impl LedgerFold {
    pub(super) fn add(&mut self, line: &LedgerLine) {
        if line.at_us.saturating_add(LATE_US) < self.last_at_us {
            *self = Self::default();
        }
        self.last_at_us = self.last_at_us.max(line.at_us);
        let first = *self.first_step.get_or_insert(line.step);
        self.all.add(line);
        if line.step >= first.saturating_add(WARM_UP as u64) {
            self.warm.add(line);
        }
    }

    pub(super) fn fill(&self, into: &mut PipelineSignals, accumulation: u32) {
        let is_short = self.all.stages[LedgerStage::Model as usize].batches < SHORT as u64;
        let totals = if is_short { &self.all } else { &self.warm };
        totals.fill(into, accumulation);
    }
}

impl Totals {
    fn add(&mut self, line: &LedgerLine) {
        let stage = &mut self.stages[line.stage as usize];
        stage.batches += 1;
        stage.busy_us = stage.busy_us.saturating_add(line.busy_us);
        stage.wait_in_us = stage.wait_in_us.saturating_add(line.wait_in_us);
        stage.wait_out_us = stage.wait_out_us.saturating_add(line.wait_out_us);
        stage.threads |= 1 << (line.worker % 128);
        match line.stage {
            LedgerStage::Host => {
                self.read.add(line.read_us);
                self.decode.add(line.decode_us);
            }
            LedgerStage::Device => self.upload.add(line.upload_us),
            LedgerStage::Model => {
                self.lanes |= 1 << (line.lane % 128);
                self.at_once += u64::from(line.wait_in_us <= AT_ONCE_US);
            }
            LedgerStage::Hop => {}
        }
    }

    fn fill(&self, into: &mut PipelineSignals, accumulation: u32) {
        const NONE: &str = "ledger.jsonl has no batch of this stage";
        const OLDER: &str =
            "this run does not measure it; a newer version writes it to ledger.jsonl";
        let lanes = self.lanes.count_ones().max(1);
        let batches_per_step = f64::from(lanes) * f64::from(accumulation.max(1));
        let seconds =
            |us: u64, batches: u64| Seconds(us as f64 / 1e6 / batches as f64 * batches_per_step);
        let stage = |stage: LedgerStage| {
            let totals = self.stages[stage as usize];
            let signals = (totals.batches > 0).then(|| StageSignals {
                threads: totals.threads.count_ones(),
                busy: seconds(totals.busy_us, totals.batches),
                wait_in: seconds(totals.wait_in_us, totals.batches),
                wait_out: seconds(totals.wait_out_us, totals.batches),
            });
            Signal::from_option(signals, NONE)
        };
        let part = |part: Part| {
            let signal = (part.batches > 0).then(|| seconds(part.us, part.batches));
            Signal::from_option(signal, OLDER)
        };
        into.host = stage(LedgerStage::Host);
        into.device = stage(LedgerStage::Device);
        into.hop = stage(LedgerStage::Hop);
        into.read = part(self.read);
        into.decode = part(self.decode);
        into.upload = part(self.upload);
        let asked = self.stages[LedgerStage::Model as usize].batches;
        let ready = (asked > 0).then(|| Share(self.at_once as f64 / asked as f64));
        into.ready = Signal::from_option(ready, NONE);
    }
}
