//! The batches of a step, and how much of it each is.

use myxtts_pipeline::Ticket;

use super::gradient_accumulator::GradientAccumulator;
use super::step_metrics::StepMetrics;
use super::{Replica, ReplicaInput};
use crate::error::{TrainError, unless_stopped};
use crate::feed::{BatchStats, DeviceBatch};
use crate::objective::Objective;

/// The micro-batches of one step, taken one by one.
///
/// A batch is dropped after its pass, and its place in the pipeline goes to the next: a step may
/// have more batches than fit into the pipeline. Only a model with a second phase needs them
/// again, so its batches are kept until the step is done, without their places.
pub(super) struct StepBatches<'a, B> {
    input: &'a mut ReplicaInput<B>,
    accumulation: usize,
    /// The number of the step's first batch, counted through the stage.
    first: u64,
    kept: Vec<DeviceBatch<B>>,
    step_targets: Option<StepTargets>,
}

impl<'a, B> StepBatches<'a, B> {
    pub(super) fn new(input: &'a mut ReplicaInput<B>, accumulation: usize, done: u64) -> Self {
        let accumulation = accumulation.max(1);
        Self {
            input,
            accumulation,
            first: done * accumulation as u64,
            kept: vec![],
            step_targets: None,
        }
    }

    /// Runs a phase over all batches of the step; `false` at the end of the data.
    pub(super) fn accumulate<T: Objective<Batch = B>>(
        &mut self,
        accumulator: &mut GradientAccumulator<'_, T>,
        metrics: &mut StepMetrics,
        traces: &mut Vec<T::Trace>,
    ) -> Result<bool, TrainError> {
        if self.step_targets.is_some() {
            for device_batch in &self.kept {
                let shares = self
                    .step_targets
                    .iter()
                    .flat_map(|step_targets| step_targets.shares(&device_batch.stats));
                accumulator.forward_backward(
                    &device_batch.batch,
                    &shares.collect::<Vec<_>>(),
                    metrics,
                    traces,
                )?;
            }
            return Ok(true);
        }
        for _ in 0..self.accumulation {
            unless_stopped(&self.input.stop)?;
            let Some(delivered) = self.input.lane.next()? else {
                return Ok(false);
            };
            let stats = &delivered.batch.stats;
            metrics.count_batch(stats, delivered.waited);
            let step_targets = match self.step_targets.take() {
                Some(step_targets) => step_targets,
                None => self.step_targets(stats, accumulator.replica)?,
            };
            let shares = step_targets.shares(stats);
            self.step_targets = Some(step_targets);
            accumulator.forward_backward(&delivered.batch.batch, &shares, metrics, traces)?;
            if T::PHASES > 1 {
                self.kept.push(delivered.into_batch());
            }
        }
        Ok(true)
    }

    /// Counts the targets of the whole step. A step of one batch counts those of that batch; for
    /// more, the data's plan knows them before the batches are made.
    fn step_targets(
        &self,
        first: &BatchStats,
        replica: &Replica,
    ) -> Result<StepTargets, TrainError> {
        let own = match self.accumulation {
            1 => first.targets.clone(),
            count => {
                let ticket = Ticket {
                    step: self.first,
                    lane: self.input.rank,
                };
                self.input.targets.sum(ticket, count)
            }
        };
        let own = own.into_iter().map(|targets| targets as f32);
        Ok(StepTargets(replica.mean(own.collect())?))
    }
}

/// The targets of a whole step for each part of the loss: the mean over replicas of what each has
/// in all its batches.
///
/// The gradients of replicas are averaged, and those of a replica's batches
/// added: a batch with n of N targets in the whole step has the share
/// n x replicas / N, and the sum is the gradient of one large batch.
struct StepTargets(Vec<f32>);

impl StepTargets {
    /// Returns how much of the step's mean a batch is, for each part of the loss.
    fn shares(&self, stats: &BatchStats) -> Vec<f64> {
        let of = |part: usize| stats.targets.get(part).copied().unwrap_or(0);
        let shares = self
            .0
            .iter()
            .enumerate()
            .map(|(part, mean)| match of(part) {
                0 => 0.0,
                targets => targets as f64 / f64::from(*mean),
            });
        shares.collect()
    }
}
