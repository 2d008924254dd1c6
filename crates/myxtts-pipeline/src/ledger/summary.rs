//! The sums of a ledger.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

use super::Sums;
use crate::failure::PipelineStage;
use crate::ring::RingState;

/// What one stage did in a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StageReport {
    /// The stage it is about.
    pub stage: PipelineStage,
    /// The number of threads it ran on.
    pub threads: u32,
    /// The number of batches it processed.
    pub batches: u64,
    /// Seconds of work, of all threads together.
    pub busy_s: f64,
    /// Seconds spent waiting for input, of all threads together.
    pub wait_in_s: f64,
    /// Seconds spent waiting for room, of all threads together.
    pub wait_out_s: f64,
    /// Size of all batches produced, in bytes.
    pub bytes: u64,
    /// Mean number of batches in the ring it puts into, or, for the model, takes from.
    pub mean_occupancy: f64,
}

/// How full and how ready one ring was.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RingReport {
    /// The name of the ring.
    pub ring: &'static str,
    /// Percent of the time during which the next batch was ready.
    pub readiness_pct: f64,
    /// The most batches at once.
    pub peak_batches: usize,
    /// The most bytes at once.
    pub peak_bytes: u64,
}

impl RingReport {
    /// Makes a report from a ring's own figures.
    pub fn new(ring: &'static str, state: &RingState) -> Self {
        let open = state.open.as_secs_f64();
        Self {
            ring,
            readiness_pct: if open > 0.0 {
                100.0 * state.ready.as_secs_f64() / open
            } else {
                0.0
            },
            peak_batches: state.peak_batches,
            peak_bytes: state.peak_bytes,
        }
    }
}

/// The ledger of a run, added up.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Seconds since the pipeline started.
    pub wall_s: f64,
    /// Percent of the time the model waited for data.
    pub data_wait_pct: f64,
    /// Percent of the time that keeping the ledger took.
    pub ledger_overhead_pct: f64,
    /// The reports of the stages, in the order of the data.
    pub stages: Vec<StageReport>,
    /// The reports of the rings.
    pub rings: Vec<RingReport>,
}

impl Summary {
    pub(super) fn new(sums: &Sums, wall: Duration, cost: Duration, rings: Vec<RingReport>) -> Self {
        let wall_s = wall.as_secs_f64();
        let stages: Vec<StageReport> = sums
            .stages
            .iter()
            .map(|(stage, sums)| StageReport {
                stage: *stage,
                threads: sums.threads.count_ones(),
                batches: sums.batches,
                busy_s: sums.busy_us as f64 / 1e6,
                wait_in_s: sums.wait_in_us as f64 / 1e6,
                wait_out_s: sums.wait_out_us as f64 / 1e6,
                bytes: sums.bytes,
                mean_occupancy: sums.occupancy as f64 / sums.batches.max(1) as f64,
            })
            .collect();
        let model = stages
            .iter()
            .find(|report| report.stage == PipelineStage::Model);
        let waited = model.map_or(0.0, |report| report.wait_in_s);
        let lived = model.map_or(0.0, |report| report.wait_in_s + report.busy_s);
        let percent = |part: f64, whole: f64| {
            if whole > 0.0 {
                100.0 * part / whole
            } else {
                0.0
            }
        };
        Self {
            wall_s,
            data_wait_pct: percent(waited, lived),
            ledger_overhead_pct: percent(cost.as_secs_f64(), wall_s),
            stages,
            rings,
        }
    }
}

impl Summary {
    /// Says in one line how long the model waited, and how ready each ring was.
    pub fn line(&self) -> String {
        let mut line = format!("data wait {:.2} %", self.data_wait_pct);
        for ring in &self.rings {
            line.push_str(&format!(
                ", {} ring ready {:.1} %",
                ring.ring, ring.readiness_pct
            ));
        }
        line
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "the model waited for data {:.2} % of the time",
            self.data_wait_pct
        )?;
        writeln!(f, "stage    batches   busy s  wait in s  wait out s  ring")?;
        for stage in &self.stages {
            writeln!(
                f,
                "{:<8} {:>7} {:>8.2} {:>10.2} {:>11.2} {:>5.1}",
                stage.stage.to_string(),
                stage.batches,
                stage.busy_s,
                stage.wait_in_s,
                stage.wait_out_s,
                stage.mean_occupancy
            )?;
        }
        for ring in &self.rings {
            writeln!(
                f,
                "{} ring: ready {:.1} % of the time, at most {} batches, {} bytes",
                ring.ring, ring.readiness_pct, ring.peak_batches, ring.peak_bytes
            )?;
        }
        Ok(())
    }
}
