//! Units as types, so that a number cannot change its meaning at a border.

use std::fmt;

pub use myxtts_base::Seconds;
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
