//! There and back over the micro-batches of a step.

use burn::tensor::Tensor;
use myxtts_model::init::mix;
use myxtts_ops::on_cores;

use super::Seat;
use super::step_metrics::Tally;
use crate::error::TrainError;
use crate::objective::Trainee;
use crate::optim::NamedGradients;

/// The forward and backward passes of one phase of a step, and the sum of
/// their gradients.
pub(super) struct Passes<'a, T> {
    trainee: &'a T,
    pub(super) seat: &'a Seat,
    /// The factor on the loss; 1 outside half precision.
    scale: f64,
    phase: usize,
    key: u64,
    gradients: NamedGradients,
    /// Passes made so far.
    count: usize,
}

impl<'a, T: Trainee> Passes<'a, T> {
    pub(super) fn new(trainee: &'a T, seat: &'a Seat, phase: usize, key: u64, scale: f64) -> Self {
        Self {
            trainee,
            seat,
            scale,
            phase,
            key,
            gradients: NamedGradients::default(),
            count: 0,
        }
    }

    /// Runs forward and backward over this replica's next batch.
    pub(super) fn pass(
        &mut self,
        batch: &T::Batch,
        shares: &[f64],
        tally: &mut Tally,
        traces: &mut Vec<T::Trace>,
    ) -> Result<(), TrainError> {
        let index = self.seat.rank + self.seat.members() * self.count;
        let key = mix(self.key ^ mix(index as u64));
        self.count += 1;
        let (trainee, phase, scale) = (self.trainee, self.phase, self.scale);
        let sum = &mut self.gradients;
        // The cores are held during the pass only, not while it waits for a batch or for other
        // replicas, which may share them.
        on_cores(&trainee.device(), || {
            let pass = trainee.pass(phase, batch, shares, key, scale);
            let pass = pass.map_err(|why| TrainError::step(tally.done.step, why))?;
            tally.add(pass.total, pass.parts);
            sum.add(pass.gradients);
            traces.push(pass.trace);
            Ok(())
        })
    }

    /// Returns the mean gradient over all batches and replicas, clipped to a norm of `clip`, and
    /// the norm it had before.
    pub(super) fn finish(
        self,
        clip: f64,
    ) -> Result<(NamedGradients, Option<Tensor<1>>), TrainError> {
        let device = self.trainee.device();
        let own = match self.scale {
            1.0 => self.gradients,
            scale => on_cores(&device, || self.gradients.scale(1.0 / scale)),
        };
        let mean = self.seat.mean_gradients(own)?;
        Ok(on_cores(&device, || mean.clip(clip)))
    }
}
