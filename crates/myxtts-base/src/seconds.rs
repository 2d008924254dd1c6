//! Time as a type, so that a number cannot change its meaning at a border.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A length of time, of a recording or of a clock, in seconds.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Seconds(pub f64);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 >= 3600.0 {
            write!(f, "{:.1} h", self.0 / 3600.0)
        } else if self.0 >= 60.0 {
            write!(f, "{:.1} min", self.0 / 60.0)
        } else {
            write!(f, "{:.2} s", self.0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Seconds;

    #[test]
    fn lengths_read_naturally() {
        assert_eq!(Seconds(1.0).to_string(), "1.00 s");
        assert_eq!(Seconds(90.0).to_string(), "1.5 min");
        assert_eq!(Seconds(18_000.0).to_string(), "5.0 h");
    }
}
