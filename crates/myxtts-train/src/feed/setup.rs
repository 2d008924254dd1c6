//! Sizes the rings for the batches of a schedule.

use std::ops::Range;

use myxtts_audio::MelSpec;
use myxtts_data::schedule::{BucketShape, ConditioningSpec, Schedule};
use myxtts_data::units::Codes;
use myxtts_pipeline::{Bounds, Knobs, RingBounds, Setup, Wiring};

use super::device::device_bytes;
use super::shapes::Shapes;

/// The most bytes that batches may take while they wait; `None` limits only their number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RingBytes {
    /// In host memory, not counting those that workers are filling.
    pub host: Option<u64>,
    /// In the memory of each device.
    pub device: Option<u64>,
}

/// Bytes of the largest batch a schedule can give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LargestBatch {
    /// As a buffer of the host stage.
    pub host: u64,
    /// As a batch on a device.
    pub device: u64,
}

impl LargestBatch {
    /// Sizes the batches of a schedule whose clips are conditioned on segments of `mel`.
    pub fn of(schedule: &Schedule, conditioning: ConditioningSpec, mel: &MelSpec) -> Self {
        Self::of_shapes(schedule.shapes(), conditioning, mel)
    }

    /// Sizes batches of these shapes, each with its number of rows.
    pub(crate) fn of_shapes(
        shapes: impl Iterator<Item = (BucketShape, u32)>,
        conditioning: ConditioningSpec,
        mel: &MelSpec,
    ) -> Self {
        let padded = conditioning.max.max(conditioning.min);
        let frames = mel.frames(padded).0;
        let (mut most_rows, mut most_text, mut most_codes, mut device) = (0, 0, 0, 0);
        for (shape, rows) in shapes {
            let rows = rows as usize;
            let (text, codes) = (shape.text.0 as usize, shape.audio.0 as usize);
            most_rows = most_rows.max(rows);
            most_text = most_text.max(rows * text);
            most_codes = most_codes.max(rows * codes);
            let shapes = Shapes {
                rows,
                text,
                codes,
                frames,
            };
            device = device.max(device_bytes(shapes, mel.bands));
        }
        // A reused buffer keeps the largest size that each of its parts has had, and a vector
        // that grew may hold twice what it needs. Beside the samples a row has its lengths, its
        // segment and its clip.
        let per_code = size_of::<f32>() * Codes::STRIDE + size_of::<i32>();
        let per_row = size_of::<f32>() * padded.0 + 64;
        let host = most_codes * per_code + most_text * size_of::<i32>() + most_rows * per_row;
        Self {
            host: 2 * host as u64,
            device,
        }
    }

    /// Sets up a pipeline for batches of at most this size, in rings of at most `most` bytes.
    pub fn setup(
        self,
        wiring: Wiring,
        steps: Range<u64>,
        knobs: Knobs,
        bounds: Bounds,
        most: RingBytes,
    ) -> Setup {
        let ring = |largest: u64, batches: usize, most: Option<u64>| {
            let bytes = largest * batches.max(1) as u64;
            RingBounds {
                batches,
                bytes: most.map_or(bytes, |most| bytes.min(most)),
                largest,
            }
        };
        let batches = |of: fn(&Knobs) -> usize| of(&bounds.most).max(of(&knobs));
        let device_ring = RingBounds {
            batches: knobs.ring_depth,
            ..ring(self.device, batches(|knobs| knobs.ring_depth), most.device)
        };
        Setup {
            wiring,
            first_step: steps.start,
            end_step: steps.end,
            knobs,
            bounds,
            host_ring: ring(self.host, batches(|knobs| knobs.in_flight), most.host),
            device_ring,
            model_ring: device_ring,
        }
    }
}

/// Sets up one model device that shares its device with the data, with fixed knobs.
pub fn single_lane(
    schedule: &Schedule,
    conditioning: ConditioningSpec,
    mel: &MelSpec,
    steps: Range<u64>,
    knobs: Knobs,
) -> Setup {
    let wiring = Wiring {
        lanes: 1,
        shared_data_device: true,
    };
    let fixed = Bounds {
        least: knobs,
        most: knobs,
    };
    LargestBatch::of(schedule, conditioning, mel).setup(
        wiring,
        steps,
        knobs,
        fixed,
        RingBytes::default(),
    )
}
