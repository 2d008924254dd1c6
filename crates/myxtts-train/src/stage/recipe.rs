//! How a stage learns: its length, and its learning rate by step.

use myxtts_data::schedule::Schedule;
use myxtts_run::schedule::{self, Parts, Shape};
use myxtts_run::units::Step;

use crate::config::{ScheduleKind, StageName};
use crate::error::TrainError;
use crate::faults::StepFaults;
use crate::session::{Job, Optimisation};
use crate::train_loop::Recipe;

/// Steps between two comparisons of the replicas.
const COMPARE_EVERY: u64 = 100;

/// Makes the loop settings of a stage over these batches.
pub(crate) fn recipe(
    job: &Job,
    stage: StageName,
    batches: &Schedule,
) -> Result<Recipe, TrainError> {
    let epochs = job.epochs.get(&stage).copied().unwrap_or(1);
    let micro = epochs.saturating_mul(batches.steps_per_epoch());
    let steps = micro / job.accumulation() as u64;
    let least = job.least_steps.get(&stage).copied().unwrap_or(1);
    let steps = steps.max(least);
    let steps = steps.min(job.max_steps.unwrap_or(u64::MAX)).max(1);
    Ok(Recipe {
        steps,
        accumulation: job.accumulation(),
        schedule: rates(job, stage, steps)?,
        gradient_clip: job.optimisation.gradient_clip,
        seed: job.seed,
        compare_every: COMPARE_EVERY,
        faults: StepFaults::default(),
    })
}

/// Returns the steps in which the learning rate rises: as the user chose, or at most a tenth of
/// the stage, since a longer rise would be most of a short one.
pub(crate) fn warm_up(optimisation: &Optimisation, steps: u64) -> u64 {
    match optimisation.warmup_chosen {
        true => optimisation.warmup_steps,
        false => optimisation.warmup_steps.min(steps / 10),
    }
}

/// Describes the rise for the log.
pub(crate) fn warm_up_words(optimisation: &Optimisation, steps: u64) -> String {
    let asked = optimisation.warmup_steps;
    match warm_up(optimisation, steps) {
        0 if asked == 0 => "the learning rate does not rise first".to_owned(),
        0 => format!(
            "the learning rate does not rise first: the stage is too short \
             (training.warmup_steps is {asked} and was not chosen)"
        ),
        rise if rise < asked => format!(
            "the learning rate rises over the first {rise}, a tenth of the stage \
             (training.warmup_steps is {asked} and was not chosen)"
        ),
        rise if rise >= steps => format!(
            "the learning rate rises over {rise} steps (training.warmup_steps) and does not \
             reach its highest"
        ),
        rise => format!("the learning rate rises over the first {rise}"),
    }
}

fn rates(job: &Job, stage: StageName, steps: u64) -> Result<schedule::Schedule, TrainError> {
    let optimisation = &job.optimisation;
    let base = optimisation.rate_of(stage);
    let warmup = Step(warm_up(optimisation, steps));
    let shape = match optimisation.schedule {
        ScheduleKind::Constant => Shape::Constant,
        ScheduleKind::Cosine => Shape::Cosine {
            total: Step(steps.max(warmup.0 + 1)),
            floor: base / 20.0,
        },
        ScheduleKind::Noam => Shape::Noam,
        ScheduleKind::MultiStep => {
            let mut milestones = vec![Step(steps / 2), Step(steps * 3 / 4)];
            milestones.dedup();
            milestones.retain(|milestone| *milestone > warmup);
            Shape::MultiStep {
                milestones,
                gamma: 0.5,
            }
        }
    };
    let parts = Parts {
        base,
        warmup,
        shape,
    };
    schedule::Schedule::new(parts).map_err(TrainError::failed)
}
