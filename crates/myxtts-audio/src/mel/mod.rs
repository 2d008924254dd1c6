//! Computing mel spectrograms on the host.

mod filter_bank;
mod front_end;
mod log;
mod spec;

#[cfg(test)]
pub(crate) use filter_bank::Band;
pub(crate) use filter_bank::FilterBank;
pub use front_end::MelFrontEnd;
pub use spec::{Compression, MelSpec, Window};

use crate::units::{Frames, Samples};

/// A mel spectrogram of a clip.
#[derive(Clone, Debug, PartialEq)]
pub struct Mel {
    /// The number of mel bands.
    pub bands: usize,
    /// The number of frames.
    pub frames: Frames,
    /// The values in the shape (bands, frames), row-major: all of band 0 first.
    pub values: Vec<f32>,
}

impl Mel {
    /// Returns each band over time, lowest band first.
    pub fn rows(&self) -> impl Iterator<Item = &[f32]> {
        self.values.chunks_exact(self.frames.0.max(1))
    }
}

/// A front end that cannot be made, or a waveform it cannot take.
#[derive(Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum MelError {
    /// The constants contradict each other.
    #[error("this mel front end is impossible: {0}")]
    Spec(String),
    /// The per-band statistics do not fit the bands.
    #[error("mel_stats must be {bands} finite numbers other than zero, one per band: {why}")]
    Stats {
        /// The number of bands of the front end.
        bands: usize,
        /// What is wrong with the statistics.
        why: String,
    },
    /// The clip has too few samples to reflect its edges.
    #[error("a clip of {length} is too short for a mel: at least {shortest} are needed")]
    TooShort {
        /// The length of the clip.
        length: Samples,
        /// The length of the shortest clip accepted.
        shortest: Samples,
    },
}

#[cfg(test)]
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "test code"
)]
mod tests;
