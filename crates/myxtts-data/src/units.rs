//! Units as types; samples are those of `myxtts-audio`.

use myxtts_audio::units::Samples;
use serde::{Deserialize, Serialize};

/// A number of text tokens.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Tokens(pub u32);

/// A number of audio codes, one per 1024 samples.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Codes(pub u32);

impl Codes {
    /// The number of samples that one code stands for.
    pub const STRIDE: usize = 1024;

    /// Returns the number of codes of a waveform; a last partial one counts.
    pub fn of(length: Samples) -> Self {
        Self(u32::try_from(length.0.div_ceil(Self::STRIDE)).unwrap_or(u32::MAX))
    }

    /// Returns the number of samples that this many codes stand for.
    pub fn samples(self) -> Samples {
        Samples(self.0 as usize * Self::STRIDE)
    }
}
