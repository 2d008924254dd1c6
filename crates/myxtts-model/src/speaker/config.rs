//! Sizes of the speaker encoder, and what follows from them.

use serde::{Deserialize, Serialize};

/// Sizes of the speaker encoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpeakerConfig {
    /// Mel bands; a multiple of 8.
    pub bands: usize,
    /// Channels of an embedding.
    pub embedding_dim: usize,
    /// The number of blocks in each stage.
    pub blocks: [usize; 4],
    /// The number of channels in each stage.
    pub filters: [usize; 4],
}

/// Sizes that no speaker encoder can have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this speaker encoder is impossible: {0}")]
pub struct SpeakerConfigError(pub String);

/// The factor by which squeeze-and-excitation reduces channels.
pub(super) const SQUEEZE: usize = 8;
/// Channels inside the attention.
pub(super) const ATTENTION: usize = 128;

impl SpeakerConfig {
    /// The sizes of the released XTTS v2.
    pub const RELEASED: Self = Self {
        bands: 64,
        embedding_dim: 512,
        blocks: [3, 4, 6, 3],
        filters: [32, 64, 128, 256],
    };

    /// Sizes for small models, on a CPU.
    pub const TINY: Self = Self {
        bands: 64,
        embedding_dim: 64,
        blocks: [1, 1, 1, 1],
        filters: [8, 16, 32, 32],
    };

    /// Refuses sizes that no speaker encoder can have.
    pub fn check(&self) -> Result<(), SpeakerConfigError> {
        let fault = if self.bands == 0 || !self.bands.is_multiple_of(8) {
            format!("{} bands are not a multiple of 8", self.bands)
        } else if self.filters.iter().any(|&channels| channels < SQUEEZE) {
            format!(
                "a stage has fewer than {SQUEEZE} channels: {:?}",
                self.filters
            )
        } else if self.blocks.contains(&0) || self.embedding_dim == 0 {
            "a size is 0".to_owned()
        } else {
            return Ok(());
        };
        Err(SpeakerConfigError(fault))
    }

    /// Returns channels times remaining bands, after the last stage.
    pub(super) fn flat(&self) -> usize {
        let [.., last] = self.filters;
        last * (self.bands / 8)
    }

    /// Returns channels in and out and the step of every block, stage by stage.
    pub(super) fn stages(&self) -> [Vec<BlockShape>; 4] {
        let [first, second, third, fourth] = self.filters;
        let inputs = [first, first, second, third];
        let steps = [1, 2, 2, 2];
        let outputs = [first, second, third, fourth];
        std::array::from_fn(|stage| {
            (0..self.blocks[stage])
                .map(|block| BlockShape {
                    inputs: if block == 0 {
                        inputs[stage]
                    } else {
                        outputs[stage]
                    },
                    outputs: outputs[stage],
                    stride: if block == 0 { steps[stage] } else { 1 },
                })
                .collect()
        })
    }

    /// Counts the trained parameters without making any.
    pub fn parameters(&self) -> usize {
        let norm = |channels: usize| 2 * channels;
        let linear = |inputs: usize, outputs: usize| (inputs + 1) * outputs;
        let block = |shape: &BlockShape| {
            let &BlockShape {
                inputs, outputs, ..
            } = shape;
            let shortcut = if shape.changes() {
                inputs * outputs + norm(outputs)
            } else {
                0
            };
            9 * (inputs + outputs) * outputs
                + 2 * norm(outputs)
                + linear(outputs, outputs / SQUEEZE)
                + linear(outputs / SQUEEZE, outputs)
                + shortcut
        };
        let stages = self.stages();
        let blocks: usize = stages.iter().flatten().map(block).sum();
        let [first, ..] = self.filters;
        let flat = self.flat();
        let attention = linear(flat, ATTENTION) + norm(ATTENTION) + linear(ATTENTION, flat);
        linear(9, first) + norm(first) + blocks + attention + linear(2 * flat, self.embedding_dim)
    }
}

/// The channels and the step of one block.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockShape {
    pub(super) inputs: usize,
    pub(super) outputs: usize,
    pub(super) stride: usize,
}

impl BlockShape {
    /// Whether the shortcut needs a convolution.
    pub(super) fn changes(&self) -> bool {
        self.stride != 1 || self.inputs != self.outputs
    }
}
