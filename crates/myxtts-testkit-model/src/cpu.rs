//! Parity tests on the CPU.

use burn::tensor::Device;

use crate::fixtures::{self, Part, Set};

/// How many times the tolerance is allowed.
const SLACK: f64 = 1.0;

/// Every set, on the CPU.
pub fn cases(_: Part) -> Vec<(Set, Device)> {
    fixtures::cases(Some(Device::flex()), SLACK)
}
