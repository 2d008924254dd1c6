//! Where a clip starts and ends, and how loud it is.

mod loudness;
mod pauses;
mod peak;
mod trim;

pub use loudness::loudness;
pub(crate) use loudness::normalize_loudness;
pub use pauses::{SHORTEST_PAUSE, pauses};
pub(crate) use peak::normalize_peak;
pub use trim::{Trim, trim};

/// Why a clip has no level to measure or to change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LevelError {
    /// Every sample is zero, or every block is below the gate of -70 LUFS.
    #[error("the clip is silent, so it has no level to normalise")]
    Silent,
    /// The clip is shorter than one measuring block.
    #[error("the clip is shorter than 0.4 s, too short for its loudness to be measured")]
    TooShort,
}
