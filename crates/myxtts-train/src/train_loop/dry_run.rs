//! Steps that change nothing: what a device compiles for a step is compiled
//! before the first.

use super::gradient_accumulator::GradientAccumulator;
use super::lag::is_late;
use super::loss_scale::DeviceLossScale;
use super::step_metrics::{ComputedPhase, StepMetrics};
use super::{LoopConfig, LossFactor, LossScale, Replica, synchronize};
use crate::error::TrainError;
use crate::feed::BatchStats;
use crate::objective::Objective;
use crate::optim::{AdamW, Condition};

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
    let is_late = is_late(&objective, loop_config, &replica);
    let loss_scale = LossScale::of(objective.compute());
    let on_device = || DeviceLossScale::of(&loss_scale, &objective.device().inner());
    let mut device_scale = is_late.then(on_device).flatten();
    // A third batch is added as the second is, so two are enough.
    let accumulated = loop_config.accumulation.clamp(1, 2);
    let (mut last, mut pending) = (None, None);
    for (number, (stats, batch)) in (1..).zip(batches) {
        let in_context = |error: TrainError| error.in_batch(0, &stats);
        let mut metrics = StepMetrics::new(0, 0.0, false, &replica.meter);
        let mut traces = vec![];
        for (phase, optimizer) in optimizers.iter_mut().enumerate() {
            let scale = device_scale.as_ref().map(DeviceLossScale::factor);
            let scale = scale.unwrap_or(LossFactor::Known(loss_scale.factor()));
            let mut accumulator = GradientAccumulator::new(&objective, &replica, phase, 0, scale);
            for _ in 0..accumulated {
                let pass = accumulator.forward_backward(&batch, &[], &mut metrics, &mut traces);
                pass.map_err(in_context)?;
            }
            let computed = accumulator.finish(loop_config.gradient_clip);
            let (gradients, norm) = computed.map_err(in_context)?;
            if is_late {
                let computed = ComputedPhase {
                    phase,
                    norm,
                    rate: 0.0,
                    is_last: phase + 1 == T::PHASES,
                };
                let applies_1 = metrics.begin_reading(computed).map_err(in_context)?;
                if let Some(applies_1) = applies_1 {
                    device_scale
                        .iter_mut()
                        .for_each(|scale| scale.record(&applies_1));
                    optimizer.only_if(Condition { applies_1, number });
                }
            } else {
                metrics.read(norm, &replica.meter).map_err(in_context)?;
            }
            objective = objective.apply(phase, optimizer, gradients, 0.0);
        }
        // As late as in a training.
        if let Some(earlier) = pending.replace(metrics) {
            earlier.discard(&mut optimizers).map_err(in_context)?;
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
