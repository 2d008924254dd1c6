//! Steps that change nothing: what a device compiles for a step is compiled
//! before the first.

use super::passes::Passes;
use super::step_metrics::Tally;
use super::{LossScale, Recipe, Seat, settled};
use crate::error::TrainError;
use crate::feed::Facts;
use crate::objective::Trainee;
use crate::optim::AdamW;

/// A step on one batch after another at a rate of zero: everything a step
/// computes, and the weights stay what they are. `optimisers` are used up.
pub(crate) fn rehearse<T: Trainee>(
    mut trainee: T,
    mut optimisers: Vec<AdamW>,
    batches: impl IntoIterator<Item = (Facts, T::Batch)>,
    recipe: &Recipe,
    replicas: usize,
) -> Result<T, TrainError> {
    let seat = Seat::rehearsing(replicas);
    // The third batch of a step is added as the second is.
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
        // As in a training: what the engine fuses depends on what it has
        // waited for before.
        if last.is_none() {
            settled(&trainee, 0, &facts)?;
        }
        last = Some(facts);
    }
    // Before the moments go: what is left of the last step is computed with
    // them. Not after each, or no step would be fused with the one after it.
    settled(&trainee, 0, &last.unwrap_or_default())?;
    Ok(trainee)
}
