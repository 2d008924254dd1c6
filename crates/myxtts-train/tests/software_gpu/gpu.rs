//! Where the parity tests of this binary compute.

use std::sync::Mutex;

use burn::tensor::Device;

use crate::fixtures::{self, Part, Set};
use crate::software;

/// Held by trainings, which count the kernels that this process launches, and by tests that launch
/// many for minutes.
pub static COUNTED: Mutex<()> = Mutex::new(());

/// How many times the tolerance is allowed.
const SLACK: f64 = 10.0;

/// Every set, on the device of its part.
pub fn cases(part: Part) -> Vec<(Set, Device)> {
    fixtures::cases(device(part), SLACK)
}

pub fn device(part: Part) -> Option<Device> {
    let (one, other) = software::two()?;
    Some(match part {
        Part::Gpt => one,
        Part::Codec => other,
    })
}
