//! How many workers, how deep the rings, and how much may wait in them.

use myxtts_config::units::Megabytes;

use super::{PlanError, PlanRequest, Record};
use crate::config::PipelineConfig;
use crate::machine::Host;

/// The workers and the batches that wait between them and the model.
pub(super) struct Buffers {
    pub(super) workers: u32,
    /// The most batches on the device.
    pub(super) ring_depth: u32,
    pub(super) starts: Starts,
    /// The most memory that batches take while they wait on the host.
    pub(super) host_bytes: Megabytes,
}

impl Buffers {
    /// Decides all of it for a number of replicas.
    pub(super) fn decide(
        request: &PlanRequest,
        host: &Host,
        replicas: u32,
        record: &mut Record,
    ) -> Result<Self, PlanError> {
        let PipelineConfig {
            num_workers,
            pipeline_buffer_size: buffer,
            prefetch_to_gpu,
            prefetch_buffer_size,
            optimize_cpu_gpu_overlap: adapts,
            ..
        } = request.pipeline;
        let workers = workers(request, num_workers, host, record);
        let ring = prefetch_to_gpu.then_some(prefetch_buffer_size);
        let ring_depth = ring_depth(request, ring, buffer, record)?;
        Ok(Self {
            workers,
            ring_depth,
            starts: starts(request, adapts, [buffer, ring_depth], replicas, record),
            host_bytes: host_bytes(host),
        })
    }
}

/// Decides the number of host threads. A start value is held to the host's cores,
/// less one: the thread that launches kernels must never wait for a core.
fn workers(request: &PlanRequest, asked: Option<u32>, host: &Host, record: &mut Record) -> u32 {
    let usable = host.cores.saturating_sub(1).max(1);
    match asked {
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

/// Decides how many batches wait on the device, if a ring is wanted there. They
/// count towards the buffer, and the host side needs at least one place in it.
fn ring_depth(
    request: &PlanRequest,
    ring: Option<u32>,
    buffer: u32,
    record: &mut Record,
) -> Result<u32, PlanError> {
    let Some(ring) = ring else {
        record.because(
            "prefetch_to_gpu is off: a batch is made on the device when a step asks for it, which \
             waits meanwhile",
        );
        return Ok(0);
    };
    let most = buffer.saturating_sub(1).max(1);
    if ring <= most {
        record.because(format!(
            "up to {ring} of the {buffer} batches in flight wait on the device"
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
        "up to {most} of the {buffer} batches in flight wait on the device: the start value {ring} would \
         leave the host none"
    ));
    Ok(most)
}

/// What smart prefetch starts with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Starts {
    /// Batches in flight, in all stages together.
    pub(super) in_flight: u32,
    /// Batches on the device.
    pub(super) prefetch: u32,
}

/// Decides what to start with. Where the numbers may adapt, they start small and
/// grow when waits show that it helps; a number that a person chose holds from
/// the first batch on.
fn starts(
    request: &PlanRequest,
    adapts: bool,
    [buffer, prefetch]: [u32; 2],
    lanes: u32,
    record: &mut Record,
) -> Starts {
    let is_free = |key: &str| adapts && !request.is_chosen(key);
    let starts = Starts {
        in_flight: match is_free("data.pipeline_buffer_size") {
            true => buffer.min(lanes.saturating_mul(8).max(prefetch.min(16))),
            false => buffer,
        },
        prefetch: match is_free("data.prefetch_buffer_size") {
            true => prefetch.min(4),
            false => prefetch,
        },
    };
    if starts.in_flight < buffer || starts.prefetch < prefetch {
        record.because(format!(
            "smart prefetch begins with {} batches in flight, {} of them on the device, and adds \
             more while the model waits for data",
            starts.in_flight, starts.prefetch
        ));
    }
    starts
}

/// Returns what batches may take while they wait in host memory: an eighth of it,
/// but at least 256 MB and at most 4 GB. A bound in batches alone would be
/// several gigabytes of long clips.
fn host_bytes(host: &Host) -> Megabytes {
    Megabytes((host.memory.0 / 8).clamp(256, 4096))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_of_the_buffer_follow_the_host() {
        let of = |memory| {
            let host = Host {
                name: String::new(),
                cores: 2,
                memory: Megabytes(memory),
            };
            host_bytes(&host).0
        };
        assert_eq!(
            [0, 1024, 8192, 24_000, 500_000].map(of),
            [256, 256, 1024, 3000, 4096]
        );
    }

    #[test]
    fn what_a_person_chose_is_there_from_the_start() {
        let begin = |chosen: &[&str], overlap: bool| {
            let request = PlanRequest {
                chosen: chosen.iter().map(|key| (*key).to_owned()).collect(),
                ..PlanRequest::default()
            };
            let mut record = Record::default();
            let Starts {
                in_flight,
                prefetch,
            } = starts(&request, overlap, [50, 16], 1, &mut record);
            (in_flight, prefetch, record.reasons.len())
        };
        assert_eq!(begin(&[], true), (16, 4, 1));
        assert_eq!(begin(&["data.pipeline_buffer_size"], true), (50, 4, 1));
        assert_eq!(begin(&["data.prefetch_buffer_size"], true), (16, 16, 1));
        assert_eq!(begin(&[], false), (50, 16, 0));
    }
}
