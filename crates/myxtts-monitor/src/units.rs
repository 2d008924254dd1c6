//! Units as types.

use std::time::{SystemTime, UNIX_EPOCH};

pub use myxtts_base::Seconds;
use serde::{Deserialize, Serialize};

/// Seconds since 1970, as the files of a run have them.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WallTime(pub f64);

impl WallTime {
    /// Returns the present time.
    pub fn now() -> Self {
        Self::of(SystemTime::now())
    }

    /// Converts a time of the operating system; anything before 1970 becomes 1970.
    pub(crate) fn of(time: SystemTime) -> Self {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        Self(since.as_secs_f64())
    }

    /// Returns how long ago `earlier` was; zero where the clock was set back.
    pub(crate) fn since(self, earlier: Self) -> Seconds {
        Seconds((self.0 - earlier.0).max(0.0))
    }
}
