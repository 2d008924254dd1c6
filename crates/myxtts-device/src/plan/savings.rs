//! What is given for memory: time, then digits.

use serde::Serialize;

use super::Record;
use super::memory::DeviceMemory;
use crate::config::{MomentBits, MomentsChoice, RecomputeChoice, StrategyConfig};

/// How a training saves memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Savings {
    /// Whether the backward pass computes the GPT's blocks again in place of keeping them: the
    /// same gradients, for more time.
    pub recompute: bool,
    /// How the optimizer keeps its moments.
    pub moments: MomentBits,
}

impl Savings {
    /// A training that saves nothing.
    pub const NONE: Self = Self {
        recompute: false,
        moments: MomentBits::F32,
    };

    /// Returns the ways that a configuration leaves open: the fastest, the one that needs least
    /// memory and rounds nothing more, and the one that needs least of all.
    pub(super) fn ways(config: &StrategyConfig) -> [Self; 3] {
        let first = Self {
            recompute: config.recompute == RecomputeChoice::Blocks,
            moments: match config.moments {
                MomentsChoice::Int8 => MomentBits::Int8,
                MomentsChoice::Auto | MomentsChoice::F32 => MomentBits::F32,
            },
        };
        let exact = Self {
            recompute: config.recompute != RecomputeChoice::Off,
            ..first
        };
        let last = match config.moments {
            MomentsChoice::Auto => Self {
                moments: MomentBits::Int8,
                ..exact
            },
            MomentsChoice::F32 | MomentsChoice::Int8 => exact,
        };
        [first, exact, last]
    }

    /// Records what is saved although nobody asked for it, and for want of what.
    pub(super) fn tell(self, first: Self, tight: &DeviceMemory, record: &mut Record) {
        if self.recompute && !first.recompute {
            record.because(format!(
                "the GPT's blocks are computed again on the way back: {}",
                tight.lack()
            ));
        }
        if self.moments != first.moments {
            record.because(format!(
                "the optimizer keeps its moments as {}: with {} no batch fits {}",
                self.moments.name(),
                first.moments.name(),
                tight.device
            ));
        }
    }
}
