//! Where the parity tests of this binary compute.

pub use crate::software::software_gpu as device;

/// How many times the tolerance is allowed.
pub const SLACK: f64 = 10.0;
