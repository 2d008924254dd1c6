//! What is given for memory: time, then digits, then weights that are not trained.

use serde::Serialize;

use super::Record;
use super::memory::DeviceMemory;
use crate::config::{MomentBits, MomentsChoice, RecomputeChoice, StrategyConfig};

/// The rank of adapters that nobody asked for.
const RANK: u32 = 16;

/// How a training saves memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Savings {
    /// Whether the backward pass computes the GPT's blocks again in place of keeping them: the
    /// same gradients, for more time.
    pub recompute: bool,
    /// How the optimizer keeps its moments.
    pub moments: MomentBits,
    /// The rank of the adapters that the GPT learns in place of its weights; 0 for none.
    pub adapters: u32,
}

impl Savings {
    /// A training that saves nothing.
    pub const NONE: Self = Self {
        recompute: false,
        moments: MomentBits::F32,
        adapters: 0,
    };

    /// Returns the ways that a configuration leaves open: the fastest, the one that needs least
    /// memory and rounds nothing more, the one that needs least and trains all weights, and the one
    /// that needs least of all.
    pub(super) fn ways(config: &StrategyConfig, may_adapt: bool) -> [Self; 4] {
        let first = Self {
            recompute: config.recompute == RecomputeChoice::Blocks,
            moments: match config.moments {
                MomentsChoice::Int8 => MomentBits::Int8,
                MomentsChoice::Auto | MomentsChoice::F32 => MomentBits::F32,
            },
            adapters: config.adapters.unwrap_or(0),
        };
        let exact = Self {
            recompute: config.recompute != RecomputeChoice::Off,
            ..first
        };
        let rounded = match config.moments {
            MomentsChoice::Auto => Self {
                moments: MomentBits::Int8,
                ..exact
            },
            MomentsChoice::F32 | MomentsChoice::Int8 => exact,
        };
        let last = match config.adapters {
            None if may_adapt => rounded.adapted(),
            _ => rounded,
        };
        [first, exact, rounded, last]
    }

    /// Returns the same with adapters.
    pub(super) fn adapted(self) -> Self {
        Self {
            adapters: RANK,
            ..self
        }
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
        if self.adapters != first.adapters {
            record.because(format!(
                "the GPT learns adapters of rank {} beside frozen weights: to train the weights \
                 themselves no batch fits {}",
                self.adapters, tight.device
            ));
        }
    }
}
