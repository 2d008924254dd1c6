//! How far ahead batches are made, within the plan.

use std::time::Duration;

use myxtts_device::{Backend, Mode, Plan};
use myxtts_pipeline::{Bounds, Knobs};

use super::execute::Flow;
use crate::feed::RingBytes;
use crate::placement::Placement;
use crate::session::Job;

/// Returns the workers and rings of the plan: what they start with, and the limits of smart
/// prefetch.
pub(crate) fn flow(job: &Job, placement: &Placement) -> Flow {
    let plan = &job.plan;
    let lanes = placement.models.len().max(1);
    let knobs = Knobs {
        workers: plan.workers.max(1) as usize,
        read_ahead: plan.buffer_start as usize,
        depth: plan.prefetch_start as usize,
    };
    let fewest = match job.workers_chosen || !plan.adaptive_prefetch {
        true => knobs.workers,
        false => 1,
    };
    Flow {
        knobs,
        bounds: Bounds {
            least: Knobs {
                workers: fewest,
                ..knobs
            },
            most: Knobs {
                workers: knobs.workers,
                read_ahead: knobs.read_ahead.max(plan.buffer_size as usize),
                depth: knobs.depth.max(plan.device_prefetch as usize),
            },
        },
        ring_bytes: ring_bytes(plan),
        fill_target: match plan.mode == Mode::MultiGpu {
            // A lane never has more than its share of all places.
            true => knobs.depth.min(knobs.read_ahead / lanes),
            false => knobs.depth.min(1),
        },
        start_delay: Duration::from_secs_f64(plan.model_start_delay.0),
    }
}

/// What the rings may hold.
fn ring_bytes(plan: &Plan) -> RingBytes {
    const MEGABYTE: u64 = 1024 * 1024;
    let isolated = plan.memory_isolation && plan.data_device.backend != Backend::Cpu;
    let budget = plan.data_device.memory_budget_mb.filter(|_| isolated);
    RingBytes {
        host: Some(plan.buffer_mb.0 * MEGABYTE),
        // Rings may have half of the data budget; the rest is the DVAE's.
        device: budget.map(|budget| budget.0 * MEGABYTE / 2),
    }
}
