//! What was measured, for people and for programs.

use std::fmt;

use myxtts_pipeline::Summary;
use serde::Serialize;

/// Figures of the pipeline; those at the top are of the phase `phase`.
#[derive(Clone, Debug, Serialize)]
pub struct PipelineReport {
    /// Percent of the time that the model waited for data.
    pub data_wait_pct: f64,
    /// New shapes after the warm-up.
    pub shapes_after_warmup: u64,
    /// Padding of an epoch, empty rows included.
    pub padding_pct: f64,
    /// The part of the buckets alone, were every batch full.
    pub bucket_padding_pct: f64,
    /// CPU time of all cores; unknown where the system does not tell.
    pub host_cpu_pct: Option<f64>,
    /// Percent of the time that keeping the ledger took.
    pub ledger_overhead_pct: f64,
    /// Clips in a second.
    pub samples_per_s: f64,
    /// The same without a pipeline.
    pub sequential_samples_per_s: f64,
    /// How much faster the pipeline is.
    pub speedup: f64,
    /// Where codes came from.
    pub phase: &'static str,
    /// Clips of the corpus.
    pub clips: usize,
    /// Bucket shapes.
    pub buckets: usize,
    /// Rows of the longest bucket.
    pub batch_size: u32,
    /// Host threads.
    pub workers: usize,
    /// The artificial train step.
    pub step_ms: f64,
    /// Later epochs: codes from the cache.
    pub cached: Phase,
    /// The first epoch: codes made by the DVAE, and kept.
    pub encoded: Phase,
}

/// The same work, both ways.
#[derive(Clone, Debug, Serialize)]
pub struct Phase {
    /// Through the pipeline.
    pub pipeline: Speed,
    /// One thing after the other.
    pub sequential: Speed,
    /// How much faster the pipeline is.
    pub speedup: f64,
    /// The pipeline's ledger, filling included.
    pub ledger: Summary,
}

/// How fast batches went.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Speed {
    /// Batches.
    pub steps: u64,
    /// Percent of the time without a train step.
    pub data_wait_pct: f64,
    /// CPU time of all cores.
    pub host_cpu_pct: Option<f64>,
    /// Clips in a second.
    pub samples_per_s: f64,
    /// Seconds.
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
    let or_dash = |value: Option<f64>, digits: usize| {
        value.map_or("-".to_owned(), |value| format!("{value:.digits$}"))
    };
    writeln!(
        f,
        "{name:<40} {:>7} {:>12.2} {:>8} {:>9.1} {:>8}",
        speed.steps,
        speed.data_wait_pct,
        or_dash(speed.host_cpu_pct, 0),
        speed.samples_per_s,
        or_dash(speedup, 2)
    )
}
