//! Which part of a clip conditions the model.

use myxtts_audio::units::Samples;
use serde::{Deserialize, Serialize};

use super::ClipIndex;
use super::permutation::key;

const CONDITIONING_LENGTH: u64 = 3;
const CONDITIONING_START: u64 = 4;

/// How long the conditioning segment may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConditioningSpec {
    /// The length of the shortest segment.
    pub min: Samples,
    /// The length of the longest segment, to which all are padded.
    pub max: Samples,
}

/// A segment of a clip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConditioningSegment {
    /// The first sample of the segment.
    pub start: Samples,
    /// The number of samples in it.
    pub length: Samples,
}

impl ConditioningSpec {
    /// The segments that XTTS was trained with, 3 to 6 seconds.
    pub const XTTS: Self = Self {
        min: Samples(66_150),
        max: Samples(132_300),
    };

    /// Draws the segment of a clip in an epoch, as a pure function of the arguments.
    ///
    /// The length is uniform between the bounds, or half the clip where that is
    /// longer than the clip; then the start is uniform. This is the reference's
    /// rule.
    pub fn segment(
        &self,
        clip: ClipIndex,
        clip_length: Samples,
        seed: u64,
        epoch: u64,
    ) -> ConditioningSegment {
        let draw = |purpose, below: usize| {
            let random = key(&[seed, epoch, purpose, u64::from(clip.0)]);
            // The high half of the product is below `below`, and unbiased
            // enough for lengths of clips.
            usize::try_from((u128::from(random) * below as u128) >> 64).unwrap_or(0)
        };
        let span = self.max.0.saturating_sub(self.min.0) + 1;
        let wanted = self.min.0 + draw(CONDITIONING_LENGTH, span);
        let length = if wanted > clip_length.0 {
            clip_length.0 / 2
        } else {
            wanted
        };
        let start = draw(CONDITIONING_START, clip_length.0 - length + 1);
        ConditioningSegment {
            start: Samples(start),
            length: Samples(length),
        }
    }

    /// Returns the fixed segment used in validation: the middle length, from the start.
    pub fn fixed(&self, clip_length: Samples) -> ConditioningSegment {
        let middle = self.min.0.midpoint(self.max.0);
        ConditioningSegment {
            start: Samples(0),
            length: Samples(middle.min(clip_length.0)),
        }
    }
}
