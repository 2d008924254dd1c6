//! One channel of audio.

use crate::units::{SampleRate, Samples, Seconds};

/// Mono audio. Full scale is [-1, 1]; the type does not enforce it, because a
/// decoded float file may exceed it and the loader is what clips.
#[derive(Clone, Debug, PartialEq)]
pub struct Waveform {
    /// The samples in order of time.
    pub samples: Vec<f32>,
    /// How many of them make a second.
    pub rate: SampleRate,
}

/// No samples yet, at the rate of XTTS: a buffer to load into.
impl Default for Waveform {
    fn default() -> Self {
        Self {
            samples: Vec::new(),
            rate: SampleRate::XTTS,
        }
    }
}

impl Waveform {
    /// Number of samples.
    pub fn len(&self) -> Samples {
        Samples(self.samples.len())
    }

    /// Whether there is no sample at all.
    pub fn is_empty(&self) -> bool {
        self.samples.is_empty()
    }

    /// How long it lasts.
    pub fn duration(&self) -> Seconds {
        self.len().at(self.rate)
    }
}
