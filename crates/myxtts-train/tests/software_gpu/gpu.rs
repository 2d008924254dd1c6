//! Where the parity tests of this binary compute.

use std::sync::Mutex;

use burn::tensor::Device;

use crate::fixtures::Part;
use crate::software;

/// Held by trainings, which count the kernels that this process launches, and by tests that launch
/// many for minutes.
pub static COUNTED: Mutex<()> = Mutex::new(());

/// How many times the tolerance is allowed.
pub const SLACK: f64 = 10.0;

pub fn device(part: Part) -> Option<Device> {
    let (one, other) = software::two()?;
    Some(match part {
        Part::Gpt => one,
        Part::Codec => other,
    })
}
