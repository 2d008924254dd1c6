//! How far ahead batches are made, within the plan.

use std::time::Duration;

use myxtts_base::MEGABYTE;
use myxtts_device::{Backend, Mode, Plan};
use myxtts_pipeline::{Bounds, Knobs};

use super::execute::PrefetchConfig;
use crate::feed::RingBytes;
use crate::placement::Placement;
use crate::session::Job;

/// Returns the workers and rings of the plan: what they start with, and the limits of smart
/// prefetch.
pub(crate) fn prefetch_config(job: &Job, placement: &Placement) -> PrefetchConfig {
    let plan = &job.plan;
    let lanes = placement.models.len().max(1);
    let knobs = Knobs {
        workers: plan.workers.max(1) as usize,
        in_flight: plan.in_flight_start as usize,
        ring_depth: plan.ring_depth_start as usize,
    };
    let fewest = match job.workers_chosen || !plan.adaptive_prefetch {
        true => knobs.workers,
        false => 1,
    };
    PrefetchConfig {
        knobs,
        bounds: Bounds {
            least: Knobs {
                workers: fewest,
                ..knobs
            },
            most: Knobs {
                workers: knobs.workers,
                in_flight: knobs.in_flight.max(plan.in_flight as usize),
                ring_depth: knobs.ring_depth.max(plan.ring_depth as usize),
            },
        },
        ring_bytes: ring_bytes(plan),
        fill_target: match plan.mode == Mode::MultiGpu {
            // A lane never has more than its share of all places.
            true => knobs.ring_depth.min(knobs.in_flight / lanes),
            false => knobs.ring_depth.min(1),
        },
        start_delay: Duration::from_secs_f64(plan.model_start_delay.0),
    }
}

/// What the rings may hold.
fn ring_bytes(plan: &Plan) -> RingBytes {
    let isolated = plan.memory_isolation && plan.data_device.backend != Backend::Cpu;
    let budget = plan.data_device.memory_budget_mb.filter(|_| isolated);
    RingBytes {
        host: Some(plan.buffer_mb.0 * MEGABYTE),
        // Rings may have half of the data budget; the rest is the DVAE's.
        device: budget.map(|budget| budget.0 * MEGABYTE / 2),
    }
}
