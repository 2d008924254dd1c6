//! Steps that change nothing: what a device compiles for a step is compiled
//! before the first.

use super::gradient_accumulator::GradientAccumulator;
use super::step_metrics::StepMetrics;
use super::{LoopConfig, LossScale, Replica, synchronize};
use crate::error::TrainError;
use crate::feed::BatchStats;
use crate::objective::Objective;
use crate::optim::AdamW;

/// Takes a step on each batch at a learning rate of zero: everything that a step computes is
/// computed, and the weights stay what they are. The optimizers are discarded afterwards.
pub(crate) fn dry_run_steps<T: Objective>(
    mut objective: T,
    mut optimizers: Vec<AdamW>,
    batches: impl IntoIterator<Item = (BatchStats, T::Batch)>,
    loop_config: &LoopConfig,
    replicas: usize,
) -> Result<T, TrainError> {
    let replica = Replica::dry_run(replicas);
    // A third batch is added as the second is, so two are enough.
    let accumulated = loop_config.accumulation.clamp(1, 2);
    let mut last = None;
    for (stats, batch) in batches {
        let in_context = |error: TrainError| error.in_batch(0, &stats);
        let mut metrics = StepMetrics::new(0, 0.0, &replica.meter);
        let mut traces = vec![];
        for (phase, optimizer) in optimizers.iter_mut().enumerate() {
            let scale = LossScale::of(objective.compute()).factor();
            let mut accumulator = GradientAccumulator::new(&objective, &replica, phase, 0, scale);
            for _ in 0..accumulated {
                let pass = accumulator.forward_backward(&batch, &[], &mut metrics, &mut traces);
                pass.map_err(in_context)?;
            }
            let computed = accumulator.finish(loop_config.gradient_clip);
            let (gradients, norm) = computed.map_err(in_context)?;
            metrics.read(norm, &replica.meter).map_err(in_context)?;
            objective = objective.apply(phase, optimizer, gradients, 0.0);
        }
        // Wait once, as the first step of a training does: what the engine fuses depends on when
        // it has waited before.
        if last.is_none() {
            synchronize(&objective, 0, &stats)?;
        }
        last = Some(stats);
    }
    // Wait before the moments are dropped, because the rest of the last step still uses them.
    // Waiting after every step would keep steps from being fused with each other.
    synchronize(&objective, 0, &last.unwrap_or_default())?;
    Ok(objective)
}
