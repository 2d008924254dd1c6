//! Sizes of the DVAE, and what they come to.

use serde::{Deserialize, Serialize};

/// Sizes of the DVAE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DvaeConfig {
    /// Bands of the mel.
    pub channels: usize,
    /// Channels after the first halving; each further one doubles them.
    pub hidden: usize,
    /// Halvings of the frame rate.
    pub layers: usize,
    /// Residual blocks at the lowest rate, on each side.
    pub resnet_blocks: usize,
    /// Taps of the convolutions; odd.
    pub kernel: usize,
    /// Entries of the codebook.
    pub codes: usize,
    /// Channels of an entry.
    pub codebook_dim: usize,
}

/// The number of parameters of each part of a DVAE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DvaeParameters {
    /// Trained parameters of the encoder.
    pub encoder: usize,
    /// Trained parameters of the decoder.
    pub decoder: usize,
    /// Numbers in the codebook's vectors, which no gradient changes.
    pub codebook: usize,
}

/// A size that no DVAE can have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a DVAE with `{key}` = {value} is impossible: {needed} is needed")]
pub struct DvaeConfigError {
    /// The setting that is wrong.
    pub key: &'static str,
    /// The value it has.
    pub value: usize,
    /// The values that are possible.
    pub needed: &'static str,
}

impl DvaeConfig {
    /// The sizes of the released XTTS v2.
    pub const RELEASED: Self = Self {
        channels: 80,
        hidden: 512,
        layers: 2,
        resnet_blocks: 3,
        kernel: 3,
        codes: 1024,
        codebook_dim: 512,
    };

    /// Sizes that train on two CPU cores in minutes.
    pub const TINY: Self = Self {
        hidden: 128,
        codes: 512,
        codebook_dim: 128,
        ..Self::RELEASED
    };

    /// Refuses sizes that no DVAE can have.
    pub fn check(&self) -> Result<(), DvaeConfigError> {
        let positive = [
            ("channels", self.channels),
            ("hidden", self.hidden),
            ("codes", self.codes),
            ("codebook_dim", self.codebook_dim),
        ];
        let refuse = |key, value, needed| Err(DvaeConfigError { key, value, needed });
        for (key, value) in positive {
            if value == 0 {
                return refuse(key, value, "at least 1");
            }
        }
        if !(1..=8).contains(&self.layers) {
            return refuse("layers", self.layers, "1 to 8");
        }
        if self.kernel.is_multiple_of(2) {
            return refuse("kernel", self.kernel, "an odd number");
        }
        Ok(())
    }

    /// Returns the frames of a code.
    pub fn stride(&self) -> usize {
        1 << self.layers
    }

    /// Returns the number of codes of a mel of `frames` frames.
    pub fn codes_of(&self, frames: usize) -> usize {
        frames.div_ceil(self.stride())
    }

    /// Returns the channels at the lowest rate.
    pub(crate) fn innermost(&self) -> usize {
        self.hidden << (self.layers - 1)
    }

    /// Returns the channels in and out of each halving, from the mel inwards.
    pub(super) fn halvings(&self) -> Vec<(usize, usize)> {
        let width = |layer: usize| match layer {
            0 => self.channels,
            _ => self.hidden << (layer - 1),
        };
        (0..self.layers)
            .map(|layer| (width(layer), width(layer + 1)))
            .collect()
    }

    /// Returns the channels in and out of each doubling, outwards.
    pub(super) fn doublings(&self) -> Vec<(usize, usize)> {
        let width = |layer: usize| self.hidden << layer;
        // Without residual blocks nothing widens the codes before the first doubling.
        let first = match self.resnet_blocks {
            0 => self.codebook_dim,
            _ => self.innermost(),
        };
        (0..self.layers)
            .rev()
            .map(|layer| {
                let inputs = if layer + 1 == self.layers {
                    first
                } else {
                    width(layer + 1)
                };
                (inputs, width(layer))
            })
            .collect()
    }

    /// Counts the parameters without making any.
    pub fn parameters(&self) -> DvaeParameters {
        let conv = |inputs: usize, outputs: usize, kernel: usize| (inputs * kernel + 1) * outputs;
        let wide = self.innermost();
        let block = 2 * conv(wide, wide, self.kernel) + conv(wide, wide, 1);
        let blocks = self.resnet_blocks * block;
        let sum = |pairs: Vec<(usize, usize)>| -> usize {
            let each = pairs.into_iter().map(|(i, o)| conv(i, o, self.kernel));
            each.sum()
        };
        let widening = match self.resnet_blocks {
            0 => 0,
            _ => conv(self.codebook_dim, wide, 1),
        };
        DvaeParameters {
            encoder: sum(self.halvings()) + blocks + conv(wide, self.codebook_dim, 1),
            decoder: widening
                + blocks
                + sum(self.doublings())
                + conv(self.hidden, self.channels, 1),
            codebook: self.codebook_dim * self.codes,
        }
    }

    /// Counts the numbers that the layers put out for each mel frame, of encoder and decoder. A
    /// pass keeps a few times as many.
    pub fn outputs_per_frame(&self) -> [usize; 2] {
        let (wide, stride) = (self.innermost(), self.stride());
        let blocks = 3 * self.resnet_blocks * wide;
        let rated = |pairs: Vec<(usize, usize)>, rates: Vec<usize>| -> usize {
            let layers = pairs.into_iter().zip(rates);
            layers
                .map(|((_, outputs), rate)| outputs.div_ceil(rate))
                .sum()
        };
        let inwards = (1..=self.layers).map(|layer| 1 << layer).collect();
        let outwards = (0..self.layers).rev().map(|layer| 1 << layer).collect();
        let lowest = (blocks + self.codebook_dim + self.codes).div_ceil(stride);
        [
            rated(self.halvings(), inwards) + lowest,
            rated(self.doublings(), outwards) + (blocks + wide).div_ceil(stride) + self.channels,
        ]
    }
}
