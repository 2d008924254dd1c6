//! How batches flow within the plan.

use myxtts_pipeline::{Bounds, Knobs};

use super::job::Job;
use crate::placement::Placement;
use crate::stage_run::Flow;

/// Workers and rings within the plan.
pub(super) fn flow(job: &Job, placement: &Placement) -> Flow {
    let buffers = &job.buffers;
    let lanes = placement.models.len();
    let depth = buffers.depth.max(1);
    // Enough to start with; more only where waits show that it helps.
    let least = (2 * lanes).min(buffers.in_flight);
    let knobs = Knobs {
        workers: buffers.workers.max(1),
        read_ahead: match buffers.in_flight_chosen || !buffers.adaptive {
            true => buffers.in_flight,
            false => buffers.in_flight.min((8 * lanes).max(depth.min(16))),
        },
        depth: match buffers.depth_chosen || !buffers.adaptive {
            true => depth,
            false => depth.min(4),
        },
    };
    let free = |chosen: bool, free: usize, fixed: usize| match chosen || !buffers.adaptive {
        true => fixed,
        false => free,
    };
    Flow {
        knobs,
        bounds: Bounds {
            least: Knobs {
                workers: free(buffers.workers_chosen, 1, knobs.workers),
                read_ahead: free(buffers.in_flight_chosen, least, knobs.read_ahead),
                depth: free(buffers.depth_chosen, 1, knobs.depth),
            },
            most: Knobs {
                workers: knobs.workers,
                read_ahead: free(
                    buffers.in_flight_chosen,
                    buffers.in_flight,
                    knobs.read_ahead,
                ),
                depth: free(buffers.depth_chosen, depth, knobs.depth),
            },
        },
        ring_bytes: buffers.ring_bytes,
        fill_target: match buffers.waits {
            true => knobs.depth,
            false => 1,
        },
        start_delay: buffers.start_delay,
    }
}
