//! Whether the batches of a training fit the memory of its devices.

use myxtts_base::report;
use myxtts_data::schedule::{BucketShape, Schedule};
use myxtts_device::{DeviceMemory, MemoryCheck, Share, Verdict, Workload};
use myxtts_infer::ModelCard;

use super::parts::{demand_of, schedule};
use crate::demand::Demand;
use crate::error::TrainError;
use crate::session::{Job, Run};

impl Run<'_> {
    /// Refuses, before anything is trained, what a device cannot hold. The plan has asked the
    /// same for the longest clips that are possible; this uses the clips there are, and the sizes
    /// of the weights themselves.
    pub(crate) fn check_memory(&mut self, card: &ModelCard) -> Result<(), TrainError> {
        let (job, replicas) = (self.job, self.placement.replicas());
        let schedule = schedule(job, &self.training_data, replicas, self.bound(card))?;
        let demand = demand_of(job, card);
        for line in check(job, &demand, &schedule)? {
            self.outputs.say(&line);
        }
        Ok(())
    }
}

/// Returns lines for the log about the devices, or says why the batches do not fit one.
fn check(job: &Job, demand: &Demand, schedule: &Schedule) -> Result<Vec<String>, TrainError> {
    let shapes: Vec<(BucketShape, u32)> = schedule.shapes().collect();
    let mut lines = vec![];
    for planned in &job.plan.memory {
        let needs = demand.needs_for(&planned.share, &shapes);
        let memory = planned.clone().needing(needs);
        let line = format!(
            "memory estimate, {}, {}: {} MB of {}",
            memory.device,
            memory.work(),
            memory.needed_mb.0,
            memory.found()
        );
        match (memory.verdict, job.memory_check) {
            (Verdict::TooLarge, MemoryCheck::Refuse) => {
                return Err(refusal(job, demand, &memory));
            }
            (Verdict::TooLarge, MemoryCheck::Warn) => {
                lines.push(format!(
                    "{line}: it may run out (data.memory_check is warn)"
                ));
            }
            (Verdict::Fits | Verdict::Unknown, _) => lines.push(line),
        }
    }
    Ok(lines)
}

fn refusal(job: &Job, demand: &Demand, memory: &DeviceMemory) -> TrainError {
    let fits = |batch_size: &u32| {
        job.plan.memory.iter().all(|planned| {
            let share = Share {
                batch_size: *batch_size,
                ..planned.share
            };
            let memory = planned.clone().needing(demand.needs(&share));
            memory.verdict != Verdict::TooLarge
        })
    };
    let fix = match (1..job.plan.batch_size).rev().find(fits) {
        Some(batch_size) => format!("--batch-size {batch_size} is the largest that fits"),
        None => "shorter clips (--max-mel-frames) or a smaller model".to_owned(),
    };
    TrainError::Usage(report!(
        "the batches of this training do not fit {}", memory.device;
        asked: "--batch-size {}", job.plan.batch_size;
        found: "{}", memory.found();
        why: "they need {} MB for the {}, by estimate: {}",
            memory.needed_mb.0, memory.work(), memory.needs;
        fix: "{fix}; or `--set data.memory_check=warn` to try it as it is"
    ))
}
