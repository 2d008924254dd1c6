//! What was measured, for people and for programs.

use std::fmt;

use myxtts_pipeline::Summary;
use serde::Serialize;

use crate::frame::or_dash;

/// Figures of the pipeline; those at the top belong to the phase named by `phase`.
#[derive(Clone, Debug, Serialize)]
pub struct PipelineReport {
    /// Percent of the time that the model waited for data.
    pub data_wait_pct: f64,
    /// New shapes after the warm-up.
    pub shapes_after_warmup: u64,
    /// Padding of an epoch in percent, including empty rows.
    pub padding_pct: f64,
    /// The padding that the buckets alone would cause, if every batch were full.
    pub bucket_padding_pct: f64,
    /// CPU time in percent of all cores; `None` where the system does not report it.
    pub host_cpu_pct: Option<f64>,
    /// Percent of the time that keeping the ledger took.
    pub ledger_overhead_pct: f64,
    /// Clips per second through the pipeline.
    pub samples_per_s: f64,
    /// Clips per second without a pipeline.
    pub sequential_samples_per_s: f64,
    /// How much faster the pipeline is.
    pub speedup: f64,
    /// Where the codes came from.
    pub phase: &'static str,
    /// Clips of the corpus.
    pub clips: usize,
    /// The number of bucket shapes.
    pub buckets: usize,
    /// Rows of the longest bucket.
    pub batch_size: u32,
    /// Host threads that filled batches.
    pub workers: usize,
    /// The length of the artificial train step, in milliseconds.
    pub step_ms: f64,
    /// Later epochs, with codes from the cache.
    pub cached: Phase,
    /// The first epoch, with codes made by the DVAE and kept.
    pub encoded: Phase,
}

/// The same work done both ways.
#[derive(Clone, Debug, Serialize)]
pub struct Phase {
    /// The figures through the pipeline.
    pub pipeline: Speed,
    /// The figures of the loop that does one thing after the other.
    pub sequential: Speed,
    /// How much faster the pipeline is.
    pub speedup: f64,
    /// A summary of the pipeline's ledger, including the time it took to fill.
    pub ledger: Summary,
}

/// How fast batches went through.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Speed {
    /// Batches that were consumed.
    pub steps: u64,
    /// Percent of the time without a train step.
    pub data_wait_pct: f64,
    /// CPU time in percent of all cores; `None` where the system does not report it.
    pub host_cpu_pct: Option<f64>,
    /// Clips per second of wall time.
    pub samples_per_s: f64,
    /// The time all batches took, in seconds.
    pub wall_s: f64,
}

impl fmt::Display for PipelineReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} clips, {} buckets, {:.1} % padding ({:.1} % without empty rows)\nbatch size {}, {} workers, step {} ms",
            self.clips,
            self.buckets,
            self.padding_pct,
            self.bucket_padding_pct,
            self.batch_size,
            self.workers,
            self.step_ms
        )?;
        writeln!(
            f,
            "shapes after warm-up: {}, ledger overhead {:.3} %\n",
            self.shapes_after_warmup, self.ledger_overhead_pct
        )?;
        writeln!(
            f,
            "{:<40} {:>7} {:>12} {:>8} {:>9} {:>8}",
            "", "steps", "data wait %", "CPU %", "clips/s", "speed-up"
        )?;
        for (name, phase) in [
            ("codes from the cache", &self.cached),
            ("codes made by the DVAE (first epoch)", &self.encoded),
        ] {
            row(f, name, &phase.pipeline, Some(phase.speedup))?;
            row(f, "  without a pipeline", &phase.sequential, None)?;
        }
        writeln!(f)?;
        self.cached.ledger.fmt(f)
    }
}

fn row(f: &mut fmt::Formatter<'_>, name: &str, speed: &Speed, speedup: Option<f64>) -> fmt::Result {
    writeln!(
        f,
        "{name:<40} {:>7} {:>12.2} {:>8} {:>9.1} {:>8}",
        speed.steps,
        speed.data_wait_pct,
        or_dash(speed.host_cpu_pct.map(|percent| format!("{percent:.0}"))),
        speed.samples_per_s,
        or_dash(speedup.map(|speedup| format!("{speedup:.2}")))
    )
}
