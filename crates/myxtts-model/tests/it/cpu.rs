//! Where the parity tests of this binary compute.

use burn::tensor::Device;

use crate::fixtures::Part;

/// How many times the tolerance is allowed.
pub const SLACK: f64 = 1.0;

pub fn device(_: Part) -> Option<Device> {
    Some(Device::flex())
}
