//! What a pipeline is built from.

use crate::adapt::{Bounds, Knobs};
use crate::failure::Stage;
use crate::ring::RingBounds;

/// Where the stages are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wiring {
    /// Model devices.
    pub lanes: usize,
    /// One data device works for all lanes; else each lane has its own.
    pub shared_site: bool,
}

/// Bounds and start values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setup {
    /// Where the stages are.
    pub wiring: Wiring,
    /// The first step to prepare.
    pub first_step: u64,
    /// The step after the last.
    pub end_step: u64,
    /// Where smart prefetch starts. A depth of 0 prefetches nothing: a batch is
    /// made on the device when the model asks for it.
    pub knobs: Knobs,
    /// How far it may go; equal ends switch it off.
    pub bounds: Bounds,
    /// The ring in host memory.
    pub host_ring: RingBounds,
    /// The ring on the data device.
    pub device_ring: RingBounds,
    /// The ring on the model device, where there is a hop.
    pub model_ring: RingBounds,
}

/// A setup that could not run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SetupError {
    /// Too few batches in flight for the lanes.
    #[error(
        "a buffer of {buffer} {} cannot feed {lanes} model devices: each needs {PER_LANE} in \
         flight, one in use and one ready\n  fix: set --buffer-size to at least {}",
        if *.buffer == 1 { "batch" } else { "batches" },
        .lanes * PER_LANE
    )]
    Buffer {
        /// Batches in flight.
        buffer: usize,
        /// Model devices.
        lanes: usize,
    },
    /// A ring that not even one batch fits in.
    #[error(
        "the {ring} ring may hold {bytes} bytes and the largest batch takes {largest}\n  \
         fix: lower --batch-size, or raise the memory budget"
    )]
    Ring {
        /// Which.
        ring: &'static str,
        /// Its bound.
        bytes: u64,
        /// The largest batch.
        largest: u64,
    },
    /// The numbers of workers, sites and hops do not match the wiring.
    #[error("the wiring has {wanted} {what} and {given} were given")]
    Wiring {
        /// Of what.
        what: &'static str,
        /// By the wiring.
        wanted: usize,
        /// By the caller.
        given: usize,
    },
    /// The system refused a thread.
    #[error(
        "the thread of the {stage} stage could not be started: {why}\n  fix: lower --num-workers"
    )]
    Thread {
        /// For which stage.
        stage: Stage,
        /// The system's words.
        why: String,
    },
}

/// A batch in use and one ready.
const PER_LANE: usize = 2;

impl Setup {
    /// Whether a device batch is made only when it is asked for.
    pub(super) fn is_on_demand(&self) -> bool {
        self.knobs.depth == 0
    }

    pub(super) fn check(&self, sites: usize, hops: usize) -> Result<(), SetupError> {
        let Wiring { lanes, shared_site } = self.wiring;
        let wanted = if shared_site { 1 } else { lanes };
        if lanes == 0 || sites != wanted {
            return Err(SetupError::Wiring {
                what: "data devices",
                wanted,
                given: sites,
            });
        }
        if hops != 0 && hops != lanes {
            return Err(SetupError::Wiring {
                what: "hops",
                wanted: lanes,
                given: hops,
            });
        }
        let buffer = self.bounds.least.read_ahead.min(self.knobs.read_ahead);
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
