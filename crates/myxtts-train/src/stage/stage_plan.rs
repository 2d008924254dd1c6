//! How a stage learns: its length, and its learning rate by step.

use myxtts_data::schedule::Schedule;
use myxtts_run::guard::SpikeAction;
use myxtts_run::lr::{self, Parts, Shape};
use myxtts_run::units::Step;

use crate::config::{ScheduleKind, StageName};
use crate::error::TrainError;
use crate::faults::StepFaults;
use crate::session::{Job, Optimization};
use crate::train_loop::LoopConfig;

/// Steps between two comparisons of the replicas.
const COMPARE_EVERY: u64 = 100;

/// Makes the loop settings of a stage over these batches.
pub(crate) fn loop_config(
    job: &Job,
    stage: StageName,
    batches: &Schedule,
) -> Result<LoopConfig, TrainError> {
    let epochs = job.lengths.epochs.get(&stage).copied().unwrap_or(1);
    let micro = epochs.saturating_mul(batches.steps_per_epoch());
    let steps = micro / job.accumulation() as u64;
    let least = job.lengths.least_steps.get(&stage).copied().unwrap_or(1);
    let steps = steps.max(least);
    let steps = steps.min(job.lengths.max_steps.unwrap_or(u64::MAX)).max(1);
    Ok(LoopConfig {
        steps,
        accumulation: job.accumulation(),
        lr_schedule: lr_schedule(job, stage, steps)?,
        gradient_clip: job.optimization.gradient_clip,
        seed: job.seed,
        compare_every: COMPARE_EVERY,
        reads_late: job.optimization.spikes == SpikeAction::Log,
        faults: StepFaults::default(),
    })
}

/// Returns the steps in which the learning rate rises: as the user chose, or at most a tenth of
/// the stage, since a longer rise would be most of a short one.
pub(crate) fn lr_warmup_steps(optimization: &Optimization, steps: u64) -> u64 {
    match optimization.warmup_chosen {
        true => optimization.warmup_steps,
        false => optimization.warmup_steps.min(steps / 10),
    }
}

/// Describes the rise for the log.
pub(crate) fn lr_warmup_words(optimization: &Optimization, steps: u64) -> String {
    let asked = optimization.warmup_steps;
    match lr_warmup_steps(optimization, steps) {
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

fn lr_schedule(job: &Job, stage: StageName, steps: u64) -> Result<lr::LrSchedule, TrainError> {
    let optimization = &job.optimization;
    let base = optimization.rate_of(stage);
    let warmup = Step(lr_warmup_steps(optimization, steps));
    let shape = match optimization.schedule {
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
    lr::LrSchedule::new(parts).map_err(TrainError::failed)
}
