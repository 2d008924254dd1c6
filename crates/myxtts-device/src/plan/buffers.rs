//! How many workers, and how deep the device ring.

use super::{PlanError, PlanRequest, Record};
use crate::found::Host;

/// Host threads. A start value is held to what the host has, less one core:
/// the thread that launches kernels must never wait for one.
pub(super) fn workers(request: &PlanRequest, host: &Host, record: &mut Record) -> u32 {
    let usable = host.cores.saturating_sub(1).max(1);
    match request.pipeline.num_workers {
        Some(workers) if request.is_chosen("data.num_workers") => {
            record.because(format!(
                "num_workers {workers} was asked for (the host has {} cores)",
                host.cores
            ));
            workers
        }
        start => {
            let workers = start.unwrap_or(usable).min(usable);
            record.because(format!(
                "{workers} {}: one of the host's {} cores is left to launch kernels",
                if workers == 1 { "worker" } else { "workers" },
                host.cores
            ));
            workers
        }
    }
}

/// Batches on the device. They count towards the buffer, and the host side
/// needs at least one place in it.
pub(super) fn device_prefetch(
    request: &PlanRequest,
    record: &mut Record,
) -> Result<u32, PlanError> {
    let pipeline = &request.pipeline;
    if !pipeline.prefetch_to_gpu {
        record.because("prefetch_to_gpu is off: batches are uploaded when they are used");
        return Ok(0);
    }
    let (ring, buffer) = (pipeline.prefetch_buffer_size, pipeline.pipeline_buffer_size);
    let most = buffer.saturating_sub(1).max(1);
    if ring <= most {
        record.because(format!(
            "{ring} of the {buffer} batches in flight wait on the device"
        ));
        return Ok(ring);
    }
    if request.is_chosen("data.prefetch_buffer_size") {
        return Err(PlanError::Ring {
            ring,
            buffer,
            most,
            least: ring.saturating_add(1),
        });
    }
    record.because(format!(
        "{most} of the {buffer} batches in flight wait on the device: the start value {ring} would \
         leave the host none"
    ));
    Ok(most)
}
