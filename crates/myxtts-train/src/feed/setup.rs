//! Rings large enough for the batches of a schedule.

use myxtts_audio::MelSpec;
use myxtts_data::schedule::{ConditioningSpec, Schedule};
use myxtts_data::units::Codes;
use myxtts_pipeline::{Bounds, Knobs, RingBounds, Setup, Wiring};

use super::device::device_bytes;
use super::shapes::Shapes;

/// There is nothing to train on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the schedule has no batches: the dataset has no clip to train on\n  \
     fix:   see report.txt of `myxtts prepare` for what became of its clips"
)]
pub struct EmptySchedule;

/// One model device that shares its device with the data, and fixed knobs: the
/// steps from `first` to before `end`.
pub fn single_lane(
    schedule: &Schedule,
    conditioning: ConditioningSpec,
    mel: &MelSpec,
    steps: std::ops::Range<u64>,
    knobs: Knobs,
) -> Setup {
    let padded = conditioning.max.max(conditioning.min);
    let frames = mel.frames(padded).0;
    let (mut most_rows, mut most_text, mut most_codes, mut device) = (0, 0, 0, 0);
    for (shape, rows) in schedule.shapes() {
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
    // A reused buffer keeps the largest that each of its parts has been, and a
    // vector that grew may hold twice what it needs. Beside the samples a row
    // has its lengths, its segment and its clip.
    let per_code = size_of::<f32>() * Codes::STRIDE + size_of::<i32>();
    let per_row = size_of::<f32>() * padded.0 + 64;
    let host = most_codes * per_code + most_text * size_of::<i32>() + most_rows * per_row;
    let ring = |largest: u64, batches: usize| RingBounds {
        batches,
        bytes: largest * batches.max(1) as u64,
        largest,
    };
    Setup {
        wiring: Wiring {
            lanes: 1,
            shared_site: true,
        },
        first_step: steps.start,
        end_step: steps.end,
        knobs,
        bounds: Bounds {
            least: knobs,
            most: knobs,
        },
        host_ring: ring(2 * host as u64, knobs.read_ahead),
        device_ring: ring(device, knobs.depth),
        model_ring: ring(device, knobs.depth),
    }
}
