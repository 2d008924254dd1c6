//! Where a clip starts and ends, and how loud it is.

mod loudness;
mod peak;
mod trim;

pub use loudness::{loudness, normalize_loudness};
pub use peak::normalize_peak;
pub use trim::{Trim, trim};

/// A clip that has no level to work with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LevelError {
    /// Every sample is zero, or every block is below the gate of -70 LUFS.
    #[error("the clip is silent, so it has no level to normalise")]
    Silent,
    /// Shorter than one measuring block.
    #[error("the clip is shorter than 0.4 s, the least that has a loudness")]
    TooShort,
}
