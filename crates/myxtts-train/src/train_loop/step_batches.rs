//! The batches of a step, and how much of it each is.

use myxtts_pipeline::Ticket;

use super::passes::Passes;
use super::step_metrics::Tally;
use super::{Intake, Seat};
use crate::error::{TrainError, unless_stopped};
use crate::feed::{Facts, Fed};
use crate::objective::Trainee;

/// The micro-batches of one step, taken one by one.
///
/// A batch is dropped after its pass, and its place in the pipeline goes to the next: a step may
/// have more batches than fit into the pipeline. Only a model with a second phase needs them
/// again, so its batches are kept until the step is done, without their places.
pub(super) struct StepBatches<'a, B> {
    intake: &'a mut Intake<B>,
    accumulation: usize,
    /// The number of the step's first batch, counted through the stage.
    first: u64,
    kept: Vec<Fed<B>>,
    whole: Option<Whole>,
}

impl<'a, B> StepBatches<'a, B> {
    pub(super) fn new(intake: &'a mut Intake<B>, accumulation: usize, done: u64) -> Self {
        let accumulation = accumulation.max(1);
        Self {
            intake,
            accumulation,
            first: done * accumulation as u64,
            kept: vec![],
            whole: None,
        }
    }

    /// Runs a phase over all batches of the step; `false` at the end of the data.
    pub(super) fn pass<T: Trainee<Batch = B>>(
        &mut self,
        passes: &mut Passes<'_, T>,
        tally: &mut Tally,
        traces: &mut Vec<T::Trace>,
    ) -> Result<bool, TrainError> {
        if self.whole.is_some() {
            for fed in &self.kept {
                let shares = self.whole.iter().flat_map(|whole| whole.shares(&fed.facts));
                passes.pass(&fed.batch, &shares.collect::<Vec<_>>(), tally, traces)?;
            }
            return Ok(true);
        }
        for _ in 0..self.accumulation {
            unless_stopped(&self.intake.stop)?;
            let Some(delivered) = self.intake.lane.next()? else {
                return Ok(false);
            };
            let facts = &delivered.batch.facts;
            tally.meet(facts, delivered.waited);
            let whole = match self.whole.take() {
                Some(whole) => whole,
                None => self.whole(facts, passes.seat)?,
            };
            let shares = whole.shares(facts);
            self.whole = Some(whole);
            passes.pass(&delivered.batch.batch, &shares, tally, traces)?;
            if T::PHASES > 1 {
                self.kept.push(delivered.into_batch());
            }
        }
        Ok(true)
    }

    /// Counts the targets of the whole step. A step of one batch counts those of that batch; for
    /// more, the data's plan knows them before the batches are made.
    fn whole(&self, first: &Facts, seat: &Seat) -> Result<Whole, TrainError> {
        let own = match self.accumulation {
            1 => first.targets.clone(),
            count => {
                let ticket = Ticket {
                    step: self.first,
                    lane: self.intake.rank,
                };
                self.intake.targets.sum(ticket, count)
            }
        };
        let own = own.into_iter().map(|targets| targets as f32);
        Ok(Whole(seat.mean(own.collect())?))
    }
}

/// The targets of a whole step for each part of the loss: the mean over replicas of what each has
/// in all its batches.
///
/// The gradients of replicas are averaged, and those of a replica's batches
/// added: a batch with n of N targets in the whole step has the share
/// n x replicas / N, and the sum is the gradient of one large batch.
struct Whole(Vec<f32>);

impl Whole {
    /// Returns how much of the step's mean a batch is, for each part of the loss.
    fn shares(&self, facts: &Facts) -> Vec<f64> {
        let of = |part: usize| facts.targets.get(part).copied().unwrap_or(0);
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
