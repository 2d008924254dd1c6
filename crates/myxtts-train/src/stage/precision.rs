//! From the plan's precision to the model's.

use myxtts_base::report;
use myxtts_device::Precision;
use myxtts_ops::Compute;

use crate::error::TrainError;
use crate::placement::Placement;

/// Returns the precision of products, once every model device has shown that it can compute in
/// it.
///
/// The plan asked the drivers already; the engine's own kernels may still lack
/// what a driver offers, and find out only when a loss is read.
pub(crate) fn on(precision: Precision, placement: &Placement) -> Result<Compute, TrainError> {
    let compute = match precision {
        Precision::F32 => Compute::F32,
        Precision::Bf16 => Compute::Bf16,
        Precision::F16 => Compute::F16,
    };
    let asked = precision.name();
    match placement
        .models
        .iter()
        .all(|device| compute.runs_on(device))
    {
        true => Ok(compute),
        false => Err(TrainError::Usage(report!(
            "a model device cannot compute in {asked}";
            asked: "precision {asked}";
            found: "the engine has no {asked} products on this backend";
            fix: "--precision f32"
        ))),
    }
}
