//! Where the parity tests of this binary compute.

use burn::tensor::Device;

/// How many times the tolerance is allowed.
pub const SLACK: f64 = 1.0;

pub fn device() -> Option<Device> {
    Some(Device::flex())
}
