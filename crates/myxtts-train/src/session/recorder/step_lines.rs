//! What is written down and shown of each step.

use std::time::Instant;

use myxtts_base::process::resident_memory;
use myxtts_run::observer::StepMetrics;
use myxtts_run::progress::{Numbers, StageNumbers};
use myxtts_run::units::{Bytes, Step};

use super::Recorder;
use super::measured::measured;
use crate::error::TrainError;
use crate::objective::Objective;
use crate::session::evaluate::Evaluator;
use crate::train_loop::StepReport;

impl<T: Objective, E: Evaluator<T>> Recorder<'_, T, E> {
    pub(super) fn record(
        &mut self,
        report: &StepReport,
        kernels: Option<usize>,
    ) -> Result<(), TrainError> {
        let took = self.clock.lap();
        let mut record = self.line().f32("loss", report.loss);
        for (name, value) in &report.parts {
            record = record.f32(name, *value);
        }
        record = record
            .f32("gradient_norm", report.norm)
            .f64("learning_rate", report.rate);
        if report.skipped.is_some() {
            record = record.count("skipped", 1);
        }
        let flops = self.evaluator.flops_per_position();
        record = measured(record, report, took, self.sample_rate, flops);
        if let Some(kernels) = kernels {
            record = record.count("kernels_new", kernels as u64);
        }
        self.outputs.metrics.append(&record)?;
        let stage = self.position.stage.name();
        let step = self.step();
        self.outputs.log.observer().step(&StepMetrics {
            step,
            stage,
            loss: report.loss,
            parts: &report.parts,
            gradient_norm: report.norm,
            learning_rate: report.rate,
            is_skipped: report.skipped.is_some(),
        });
        let mut scalar = |name: &str, value: f32| {
            let tag = format!("{stage}/{name}");
            let written = self.outputs.events.scalar(&tag, step, value);
            written.map_err(TrainError::from)
        };
        scalar("loss", report.loss)?;
        for (name, value) in &report.parts {
            scalar(name, *value)?;
        }
        scalar("gradient_norm", report.norm)?;
        #[expect(clippy::cast_possible_truncation, reason = "a chart needs no more")]
        scalar("learning_rate", report.rate as f32)
    }

    /// Records the pauses after this step. Its checkpoint does not wait for this line: a run that
    /// ends before it loses nothing but the figures.
    pub(super) fn record_pauses(&mut self) -> Result<(), TrainError> {
        let Some(pauses) = self.clock.pauses() else {
            return Ok(());
        };
        let record = pauses.record(self.line());
        Ok(self.outputs.metrics.append(&record)?)
    }

    /// Records what came after the last step.
    pub(super) fn record_close(&mut self) -> Result<(), TrainError> {
        let pauses = self.clock.pauses().unwrap_or_default();
        let close = self.clock.lap();
        let record = pauses.record(self.line());
        let record = record.f64("close_s", close.as_secs_f64());
        Ok(self.outputs.metrics.append(&record)?)
    }

    pub(super) fn show(&mut self, report: &StepReport) {
        let flops = self.evaluator.flops_per_position();
        let (place, now) = (self.outputs.place, Instant::now());
        let after = self.outputs.eta.steps_after(self.position.stage);
        let of_stage = self.position.steps.saturating_sub(self.position.done);
        let numbers = Numbers {
            step: self.step(),
            total: Some(Step(self.position.before + self.position.steps + after)),
            left: self.outputs.eta.step(of_stage, now),
            stage: (place.of > 1).then_some(StageNumbers {
                name: self.position.stage.name(),
                number: place.number,
                of: place.of,
                step: Step(self.position.done),
                total: Step(self.position.steps),
            }),
            loss: Some(f64::from(report.loss)),
            peak_flops: self.peak_flops,
            memory_used: self.pool.held().or_else(resident_memory).map(Bytes),
            ..self.throughput.add(report, self.sample_rate, flops)
        };
        self.outputs.log.observer().progress(&numbers);
        let _ = self.outputs.kept_progress.update(&numbers, now);
    }

    pub(super) fn log_step_events(&mut self, report: &StepReport) {
        if let Some(why) = &report.skipped {
            let clips = report.stats.clips.iter();
            let clips: Vec<&str> = clips
                .filter_map(|clip| self.clips.get(clip.0 as usize))
                .map(String::as_str)
                .collect();
            let line = format!(
                "step {} was left out: {why}; its clips: {}",
                self.step(),
                clips.join(", ")
            );
            self.outputs.say(&line);
        }
        if let Some(spike) = &report.spike {
            self.outputs.say(spike);
        }
        let Some(pipeline) = self.pipeline.upgrade() else {
            return;
        };
        for change in pipeline.changes() {
            self.outputs.say(&format!("smart prefetch: {change}"));
        }
        let per_epoch = self.stage_info.steps_per_epoch;
        if self.position.done.is_multiple_of(per_epoch) {
            let epoch = self.position.done / per_epoch;
            let line = format!("epoch {epoch}: {}", pipeline.summary().line());
            // Only the log file gets this: a small dataset has many epochs.
            let _ = self.outputs.log.note(&line);
        }
    }
}
