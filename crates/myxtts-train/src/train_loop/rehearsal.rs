//! Steps that change nothing: what a device compiles for a step is compiled
//! before the first.

use super::passes::Passes;
use super::step_metrics::Tally;
use super::{LossScale, Recipe, Seat, settled};
use crate::error::TrainError;
use crate::feed::Facts;
use crate::objective::Trainee;
use crate::optim::AdamW;

/// Takes a step on each batch at a learning rate of zero: everything that a step computes is
/// computed, and the weights stay what they are. The optimizers are discarded afterwards.
pub(crate) fn rehearse<T: Trainee>(
    mut trainee: T,
    mut optimisers: Vec<AdamW>,
    batches: impl IntoIterator<Item = (Facts, T::Batch)>,
    recipe: &Recipe,
    replicas: usize,
) -> Result<T, TrainError> {
    let seat = Seat::rehearsing(replicas);
    // A third batch is added as the second is, so two are enough.
    let accumulated = recipe.accumulation.clamp(1, 2);
    let mut last = None;
    for (facts, batch) in batches {
        let told = |error: TrainError| error.in_batch(0, &facts);
        let mut tally = Tally::new(0, 0.0, &seat.meter);
        let mut traces = vec![];
        for (phase, optimiser) in optimisers.iter_mut().enumerate() {
            let scale = LossScale::of(trainee.compute()).factor();
            let mut passes = Passes::new(&trainee, &seat, phase, 0, scale);
            for _ in 0..accumulated {
                let pass = passes.pass(&batch, &[], &mut tally, &mut traces);
                pass.map_err(told)?;
            }
            let computed = passes.finish(recipe.gradient_clip);
            let (gradients, norm) = computed.map_err(told)?;
            tally.read(norm, &seat.meter).map_err(told)?;
            trainee = trainee.stepped(phase, optimiser, gradients, 0.0);
        }
        // Wait once, as the first step of a training does: what the engine fuses depends on when
        // it has waited before.
        if last.is_none() {
            settled(&trainee, 0, &facts)?;
        }
        last = Some(facts);
    }
    // Wait before the moments are dropped, because the rest of the last step still uses them.
    // Waiting after every step would keep steps from being fused with each other.
    settled(&trainee, 0, &last.unwrap_or_default())?;
    Ok(trainee)
}
