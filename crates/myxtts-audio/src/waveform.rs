//! One channel of audio.

use crate::units::{SampleRate, Samples, Seconds};

/// Mono audio. Full scale is [-1, 1]. The type does not enforce it, because a
/// decoded float file may exceed it, and it is the loader that clips.
#[derive(Clone, Debug, PartialEq)]
pub struct Waveform {
    /// The samples in order of time.
    pub samples: Vec<f32>,
    /// How many of them make a second.
    pub rate: SampleRate,
}

/// An empty waveform at the rate of XTTS, as a buffer to load into.
impl Default for Waveform {
    fn default() -> Self {
        Self {
            samples: Vec::new(),
            rate: SampleRate::XTTS,
        }
    }
}

impl Waveform {
    /// Returns the number of samples.
    pub fn len(&self) -> Samples {
        Samples(self.samples.len())
    }

    /// Returns whether there are no samples at all.
    pub fn is_empty(&self) -> bool {
        self.samples.is_empty()
    }

    /// Returns how long the waveform lasts.
    pub fn duration(&self) -> Seconds {
        self.len().at(self.rate)
    }
}
