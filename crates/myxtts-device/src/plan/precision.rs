//! Which precision to compute in.

use super::{PlanError, PlanRequest, Record};
use crate::config::{Precision, PrecisionChoice};
use crate::machine::Gpu;

const ON_CPU: [Precision; 3] = [Precision::F32, Precision::Bf16, Precision::F16];

/// Chooses one precision for all replicas: the one asked for if every device has
/// it, otherwise an error.
pub(super) fn choose(
    request: &PlanRequest,
    asked: PrecisionChoice,
    gpus: &[&Gpu],
    record: &mut Record,
) -> Result<Precision, PlanError> {
    let can = |precision| gpus.iter().all(|gpu| gpu.precisions.contains(&precision));
    let asked = match asked {
        PrecisionChoice::Auto => {
            let (precision, reason) = match gpus {
                [] => (Precision::F32, "f32, which the CPU computes fastest"),
                _ if can(Precision::Bf16) => (
                    Precision::Bf16,
                    "bf16, which every model GPU computes; master weights stay f32",
                ),
                _ => (Precision::F32, "f32: not every model GPU computes bf16"),
            };
            record.because(format!("precision is {reason}"));
            return Ok(precision);
        }
        PrecisionChoice::F32 => Precision::F32,
        PrecisionChoice::Bf16 => Precision::Bf16,
        PrecisionChoice::F16 => Precision::F16,
    };
    if can(asked) {
        record.because(format!("precision {} was asked for", asked.name()));
        return Ok(asked);
    }
    let unable = gpus.iter().find(|gpu| !gpu.precisions.contains(&asked));
    let device = unable.map_or_else(String::new, |gpu| format!("GPU {} ({})", gpu.id, gpu.name));
    let able = unable.map_or(ON_CPU.as_slice(), |gpu| gpu.precisions.as_slice());
    let found = able
        .iter()
        .map(|precision| precision.name())
        .collect::<Vec<_>>()
        .join(", ");
    if request.strategy.allow_fallback {
        record.given_up.push(format!(
            "precision {} was given up: {device} computes in {found}; using f32",
            asked.name()
        ));
        return Ok(Precision::F32);
    }
    Err(PlanError::Precision {
        device,
        asked: asked.name(),
        found,
    })
}
