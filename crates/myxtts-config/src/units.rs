//! Units as types, so that a number cannot change its meaning at a border.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Mebibytes, the unit drivers and users count device memory in.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Megabytes(pub u64);

impl Megabytes {
    /// Returns the whole mebibytes in `bytes`, rounded down.
    pub fn from_bytes(bytes: u64) -> Self {
        Self(bytes >> 20)
    }
}

impl fmt::Display for Megabytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} MB", self.0)
    }
}

/// Seconds of wall time.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Seconds(pub f64);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} s", self.0)
    }
}
