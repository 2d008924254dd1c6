//! The measurements of a step, as fields of its line in `metrics.jsonl`.

use std::time::Duration;

use myxtts_run::metrics::Record;

use crate::train_loop::StepReport;

/// Adds the measurements of a step. `took` is the time since the last step, without pauses.
pub(crate) fn measured(
    record: Record,
    report: &StepReport,
    took: Duration,
    sample_rate: f64,
    flops_per_position: Option<f64>,
) -> Record {
    let totals = &report.totals;
    let mut record = record
        .f64("step_s", took.as_secs_f64())
        .f64("data_wait_s", report.waited.as_secs_f64())
        .f64("read_back_s", report.waits.read_back.as_secs_f64())
        .count("syncs", report.waits.syncs)
        .f64("collective_s", report.waits.collective.as_secs_f64())
        .count("clips", totals.clips)
        .f64("audio_s", totals.audio.0 as f64 / sample_rate);
    if let Some(thread) = report.thread {
        record = record
            .f64("dispatch_s", thread.ran.as_secs_f64())
            .f64("core_wait_s", thread.delayed.as_secs_f64());
    }
    if totals.padded > 0 {
        let used = totals.used as f64 / totals.padded as f64;
        record = record.f64("padding", 1.0 - used);
    }
    if let Some(flops) = flops_per_position {
        record = record.f64("flop", flops * totals.padded as f64);
    }
    if !totals.worked.is_empty() {
        let seconds: Vec<f64> = totals.worked.iter().map(Duration::as_secs_f64).collect();
        record = record.list("replica_step_s", &seconds);
    }
    record
}
