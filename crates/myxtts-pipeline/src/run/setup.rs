//! The settings that a pipeline is built from.

use myxtts_base::report;

use crate::adapt::{Bounds, Knobs};
use crate::failure::PipelineStage;
use crate::ring::RingBounds;

/// How the stages are placed on devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wiring {
    /// The number of model devices.
    pub lanes: usize,
    /// Whether one data device works for all lanes; otherwise each lane has its own.
    pub shared_data_device: bool,
}

/// The bounds and start values of a pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setup {
    /// How the stages are placed on devices.
    pub wiring: Wiring,
    /// The first step to prepare.
    pub first_step: u64,
    /// The step after the last one.
    pub end_step: u64,
    /// The values smart prefetch starts from. A depth of 0 prefetches nothing: a
    /// batch is made on the device when the model asks for it.
    pub knobs: Knobs,
    /// The range of smart prefetch; equal ends switch it off.
    pub bounds: Bounds,
    /// The bounds of the ring in host memory.
    pub host_ring: RingBounds,
    /// The bounds of the ring on the data device.
    pub device_ring: RingBounds,
    /// The bounds of the ring on the model device, where there is a hop.
    pub model_ring: RingBounds,
}

/// Why a pipeline cannot run with its settings.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SetupError {
    /// Too few batches may be in flight for the number of lanes.
    #[error(
        "{}",
        report!(
            "a buffer of {buffer} {} cannot feed {lanes} model devices: each needs {PER_LANE} in \
             flight, one in use and one ready", if *buffer == 1 { "batch" } else { "batches" };
            fix: "set --buffer-size to at least {}", lanes * PER_LANE
        )
    )]
    Buffer {
        /// The number of batches that may be in flight.
        buffer: usize,
        /// The number of model devices.
        lanes: usize,
    },
    /// A ring that cannot hold even one batch.
    #[error(
        "{}",
        report!(
            "the {ring} ring may hold {bytes} bytes and the largest batch takes {largest}";
            fix: "lower --batch-size, or raise the memory budget"
        )
    )]
    Ring {
        /// The name of the ring.
        ring: &'static str,
        /// The most bytes the ring may hold.
        bytes: u64,
        /// The size of the largest batch, in bytes.
        largest: u64,
    },
    /// The number of device stages or hops does not match the wiring.
    #[error("the wiring has {wanted} {what} and {given} were given")]
    Wiring {
        /// What there is a wrong number of.
        what: &'static str,
        /// The number that the wiring needs.
        wanted: usize,
        /// The number that the caller gave.
        given: usize,
    },
    /// The system could not start a thread.
    #[error(
        "{}",
        report!(
            "the thread of the {stage} stage could not be started: {why}";
            fix: "lower --num-workers"
        )
    )]
    Thread {
        /// The stage that the thread is for.
        stage: PipelineStage,
        /// The system's own error.
        why: String,
    },
}

/// Batches in flight that each lane needs: one in use and one ready.
const PER_LANE: usize = 2;

impl Setup {
    /// Returns whether a device batch is made only when it is asked for.
    pub(super) fn is_on_demand(&self) -> bool {
        self.knobs.ring_depth == 0
    }

    pub(super) fn check(&self, device_stages: usize, hops: usize) -> Result<(), SetupError> {
        let Wiring {
            lanes,
            shared_data_device,
        } = self.wiring;
        let wanted = if shared_data_device { 1 } else { lanes };
        if lanes == 0 || device_stages != wanted {
            return Err(SetupError::Wiring {
                what: "data devices",
                wanted,
                given: device_stages,
            });
        }
        if hops != 0 && hops != lanes {
            return Err(SetupError::Wiring {
                what: "hops",
                wanted: lanes,
                given: hops,
            });
        }
        let buffer = self.bounds.least.in_flight.min(self.knobs.in_flight);
        if buffer < lanes * PER_LANE {
            return Err(SetupError::Buffer { buffer, lanes });
        }
        for (ring, bounds) in [
            ("host", self.host_ring),
            ("device", self.device_ring),
            ("model", self.model_ring),
        ] {
            let RingBounds { bytes, largest, .. } = bounds;
            if largest > bytes {
                return Err(SetupError::Ring {
                    ring,
                    bytes,
                    largest,
                });
            }
        }
        Ok(())
    }
}
