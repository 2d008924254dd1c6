//! Units as types.

use std::fmt;

pub use myxtts_config::units::{Megabytes, Seconds};
use serde::{Deserialize, Serialize};

/// A part of a whole, from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Share(pub f64);

impl Share {
    /// Returns `part` over `whole`; 0 where the whole is 0.
    pub(crate) fn of(part: Seconds, whole: Seconds) -> Self {
        if whole.0 > 0.0 {
            Self((part.0 / whole.0).max(0.0))
        } else {
            Self(0.0)
        }
    }

    /// Returns the share in percent.
    pub(crate) fn percent(self) -> f64 {
        self.0 * 100.0
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} %", self.percent())
    }
}

/// Megabytes (2^20 bytes) per second.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MegabytesPerSecond(pub f64);

/// Floating-point operations; a multiplication and an addition are two.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Flop(pub f64);

/// Floating-point operations per second.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FlopPerSecond(pub f64);
