//! Units of pitch.

use std::fmt;

use serde::Serialize;

/// A pitch, in periods per second.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct Hertz(pub f64);

/// A ratio of two pitches; 1200 cents are an octave.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct Cents(pub f64);

impl Hertz {
    /// Returns how far this pitch is above `other`.
    pub(crate) fn above(self, other: Self) -> Cents {
        Cents(1200.0 * (self.0 / other.0).log2())
    }
}

impl fmt::Display for Hertz {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.0} Hz", self.0)
    }
}

impl fmt::Display for Cents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.0} cents", self.0)
    }
}
