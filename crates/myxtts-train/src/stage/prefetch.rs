//! How batches flow within the plan.

use myxtts_pipeline::{Bounds, Knobs};

use super::execute::Flow;
use crate::placement::Placement;
use crate::session::Job;

/// Workers and rings as the plan has them: what they begin with, and how far
/// smart prefetch may go.
pub(crate) fn flow(job: &Job, placement: &Placement) -> Flow {
    let buffers = &job.buffers;
    let lanes = placement.models.len().max(1);
    let knobs = Knobs {
        workers: buffers.workers.max(1),
        read_ahead: buffers.in_flight_start,
        depth: buffers.depth_start,
    };
    let fewest = match buffers.workers_chosen || !buffers.adaptive {
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
                read_ahead: buffers.in_flight.max(knobs.read_ahead),
                depth: buffers.depth.max(knobs.depth),
            },
        },
        ring_bytes: buffers.ring_bytes,
        fill_target: match buffers.waits {
            // More than a lane's share of all places is never there.
            true => knobs.depth.min(knobs.read_ahead / lanes),
            false => knobs.depth.min(1),
        },
        start_delay: buffers.start_delay,
    }
}
