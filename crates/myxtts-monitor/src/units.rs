//! Units as types.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// A length of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seconds(pub f64);

/// Seconds since 1970, as the files of a run have them.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WallTime(pub f64);

impl WallTime {
    /// The present.
    pub fn now() -> Self {
        Self::of(SystemTime::now())
    }

    /// A time of the operating system; 1970 for anything before.
    pub fn of(time: SystemTime) -> Self {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        Self(since.as_secs_f64())
    }

    /// How long ago `earlier` was; a clock that was set back gives zero.
    pub fn since(self, earlier: Self) -> Seconds {
        Seconds((self.0 - earlier.0).max(0.0))
    }
}
