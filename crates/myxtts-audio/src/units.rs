//! Units as types, so that a number cannot change its meaning at a border.

use std::fmt;
use std::num::NonZeroU32;

pub use myxtts_base::Seconds;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A length or a position on the time axis of a waveform, in samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Samples(pub usize);

impl Samples {
    /// Returns the whole number of samples nearest to a length; negative and absurd
    /// lengths saturate.
    pub fn in_time(length: Seconds, rate: SampleRate) -> Self {
        Self(crate::cast::to_usize(length.0 * f64::from(rate.hz())))
    }

    /// Returns how long this many samples last.
    pub fn at(self, rate: SampleRate) -> Seconds {
        Seconds(self.0 as f64 / f64::from(rate.hz()))
    }
}

impl fmt::Display for Samples {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} sample{}", self.0, if self.0 == 1 { "" } else { "s" })
    }
}

/// A part of a recording, in samples at the model's rate, counted before anything is
/// trimmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Span {
    /// The sample it begins at.
    pub first: Samples,
    /// How many samples it has.
    pub length: Samples,
}

impl Span {
    /// Returns the sample after its last one.
    pub fn end(self) -> Samples {
        Samples(self.first.0.saturating_add(self.length.0))
    }
}

/// A length or a position on the time axis of a spectrogram, in frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Frames(pub usize);

impl fmt::Display for Frames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} frame{}", self.0, if self.0 == 1 { "" } else { "s" })
    }
}

/// Samples per second; never zero.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct SampleRate(NonZeroU32);

impl SampleRate {
    /// The rate of XTTS features, 22,050 Hz.
    pub const XTTS: Self = Self::literal(22_050);
    /// The rate of the speaker encoder, 16,000 Hz.
    pub const SPEAKER: Self = Self::literal(16_000);
    /// The rate the vocoder speaks at, 24,000 Hz.
    pub const VOCODER: Self = Self::literal(24_000);

    /// Makes a rate of `hz`; `None` for zero.
    pub const fn new(hz: u32) -> Option<Self> {
        match NonZeroU32::new(hz) {
            Some(hz) => Some(Self(hz)),
            None => None,
        }
    }

    /// Makes a constant: the zero arm is never reached, and 1 Hz beats a panic.
    const fn literal(hz: u32) -> Self {
        match NonZeroU32::new(hz) {
            Some(hz) => Self(hz),
            None => Self(NonZeroU32::MIN),
        }
    }

    /// Returns the rate in Hz.
    pub const fn hz(self) -> u32 {
        self.0.get()
    }
}

impl fmt::Display for SampleRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} Hz", self.0)
    }
}

/// A ratio of amplitudes, 20 log10.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Decibels(pub f64);

impl Decibels {
    /// Returns the ratio itself: 0 dB is 1, -20 dB is 0.1.
    pub fn amplitude(self) -> f32 {
        crate::cast::to_f32(10.0_f64.powf(self.0 / 20.0))
    }
}

impl fmt::Display for Decibels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} dB", self.0)
    }
}

/// Perceived level by ITU-R BS.1770, relative to full scale.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Lufs(pub f64);

impl fmt::Display for Lufs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} LUFS", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_and_samples_round_trip() {
        for n in [0, 1, 255, 22_050, 220_500] {
            let length = Samples(n).at(SampleRate::XTTS);
            assert_eq!(Samples::in_time(length, SampleRate::XTTS), Samples(n));
        }
    }

    #[test]
    fn absurd_seconds_saturate() {
        let samples = |seconds| Samples::in_time(Seconds(seconds), SampleRate::XTTS);
        assert_eq!(samples(-1.0), Samples(0));
        assert_eq!(samples(f64::NAN), Samples(0));
        assert_eq!(samples(f64::INFINITY), Samples(usize::MAX));
    }

    #[test]
    fn one_is_singular() {
        assert_eq!(Samples(1).to_string(), "1 sample");
    }

    #[test]
    fn zero_is_no_rate() {
        assert_eq!(SampleRate::new(0), None);
        assert!(serde_json::from_str::<SampleRate>("0").is_err());
    }
}
