//! How fast a stage goes, over its last steps.

use std::time::{Duration, Instant};

use myxtts_run::progress::Numbers;

use crate::train_loop::StepReport;

/// How long speeds are averaged: long enough to even out the buckets.
const WINDOW: Duration = Duration::from_secs(5);

/// Speeds over the last few seconds.
#[derive(Debug)]
pub(super) struct Throughput {
    since: Instant,
    steps: u64,
    audio: f64,
    waited: Duration,
    used: u64,
    padded: u64,
    last: Option<Numbers>,
}

impl Default for Throughput {
    fn default() -> Self {
        Self {
            since: Instant::now(),
            steps: 0,
            audio: 0.0,
            waited: Duration::ZERO,
            used: 0,
            padded: 0,
            last: None,
        }
    }
}

impl Throughput {
    /// The speeds with one more step.
    pub(super) fn add(
        &mut self,
        report: &StepReport,
        sample_rate: f64,
        flops: Option<f64>,
    ) -> Numbers {
        self.steps += 1;
        self.audio += report.stats.audio.0 as f64 / sample_rate;
        self.waited += report.waited;
        self.used += report.stats.used;
        self.padded += report.stats.padded;
        let elapsed = self.since.elapsed();
        let seconds = elapsed.as_secs_f64().max(1e-9);
        if elapsed >= WINDOW || self.last.is_none() {
            self.last = Some(Numbers {
                steps_per_second: Some(self.steps as f64 / seconds),
                audio_per_second: Some(self.audio / seconds),
                data_wait: Some((self.waited.as_secs_f64() / seconds).min(1.0)),
                padding: (self.padded > 0).then(|| 1.0 - self.used as f64 / self.padded as f64),
                flops: flops.map(|flops| flops * self.padded as f64 / seconds),
                ..Numbers::default()
            });
        }
        if elapsed >= WINDOW {
            let last = self.last;
            *self = Self {
                last,
                ..Self::default()
            };
        }
        self.last.unwrap_or_default()
    }
}
