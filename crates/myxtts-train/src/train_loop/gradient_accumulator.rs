//! There and back over the micro-batches of a step.

use burn::tensor::Tensor;
use myxtts_model::init::mix;
use myxtts_ops::on_compute_pool;

use super::step_metrics::StepMetrics;
use super::{LossFactor, Replica};
use crate::error::TrainError;
use crate::objective::Objective;
use crate::optim::NamedGradients;

/// The forward and backward passes of one phase of a step, and the sum of
/// their gradients.
pub(super) struct GradientAccumulator<'a, T> {
    objective: &'a T,
    pub(super) replica: &'a Replica,
    /// The factor on the loss; 1 outside half precision.
    scale: LossFactor,
    phase: usize,
    key: u64,
    gradients: NamedGradients,
    /// Passes made so far.
    count: usize,
}

impl<'a, T: Objective> GradientAccumulator<'a, T> {
    pub(super) fn new(
        objective: &'a T,
        replica: &'a Replica,
        phase: usize,
        key: u64,
        scale: LossFactor,
    ) -> Self {
        Self {
            objective,
            replica,
            scale,
            phase,
            key,
            gradients: NamedGradients::default(),
            count: 0,
        }
    }

    /// Runs forward and backward over this replica's next batch.
    pub(super) fn forward_backward(
        &mut self,
        batch: &T::Batch,
        shares: &[f64],
        metrics: &mut StepMetrics,
        traces: &mut Vec<T::Trace>,
    ) -> Result<(), TrainError> {
        let index = self.replica.rank + self.replica.world_size() * self.count;
        let key = mix(self.key ^ mix(index as u64));
        self.count += 1;
        let (objective, phase, scale) = (self.objective, self.phase, &self.scale);
        let sum = &mut self.gradients;
        // The cores are held during the pass only, not while it waits for a batch or for other
        // replicas, which may share them.
        on_compute_pool(&objective.device(), || {
            let pass = objective.forward_backward(phase, batch, shares, key, scale, sum);
            let pass = pass.map_err(|why| TrainError::step(metrics.report.step, why))?;
            metrics.add(pass.total, pass.parts);
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
        let device = self.objective.device();
        let own = match self.scale {
            LossFactor::Known(1.0) => self.gradients,
            LossFactor::Known(scale) => {
                on_compute_pool(&device, || self.gradients.scale(1.0 / scale))
            }
            LossFactor::OnDevice(scale_1) => self.gradients.scale_by(&scale_1.recip()),
        };
        let mean = self.replica.mean_gradients(own)?;
        Ok(on_compute_pool(&device, || mean.clip(clip)))
    }
}
