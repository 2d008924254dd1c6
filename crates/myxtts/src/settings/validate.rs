//! Checks a configuration without looking at data or devices.

use std::collections::BTreeSet;

use myxtts_base::Report;
use myxtts_config::Keys;
use myxtts_config::units::Megabytes;
use myxtts_device::discover::host;
use myxtts_device::{Machine, PlanRequest, plan};

use super::{Given, Init, load_with, plan_request, user_layer};
use crate::error::Error;
use crate::machine::without_gpus;

/// Checks what a training would check before it looks at data or devices, and returns how many
/// keys were given. The plan is made for a machine that has every GPU the configuration names:
/// whether this one does is a question for [`plan`](crate::plan()).
///
/// # Errors
/// As [`Given::load`], and when no machine could do what the configuration asks of its devices.
pub fn validate(keys: &Keys, given: &Given) -> Result<usize, Error> {
    let layer = user_layer(keys, given)?;
    // The weights of --init may be on another machine; the file is judged here.
    let settings = load_with(keys, given, without_gpus, Init::IfThere)?;
    let request = plan_request(&settings);
    plan(&request, &machine_with_all(&request)).map_err(|why| {
        Error::Refused(Report::of(&why).why(
            "no device was queried: these are imaginary GPUs; `myxtts plan` looks at this machine",
        ))
    })?;
    Ok(layer.iter().count())
}

/// Returns a machine with the GPUs that a configuration names, and a few more.
fn machine_with_all(request: &PlanRequest) -> Machine {
    const SOME: u32 = 4;
    const PLENTY: Megabytes = Megabytes(1 << 20);
    let PlanRequest {
        strategy, pipeline, ..
    } = request;
    let mut ids: BTreeSet<u32> = (0..SOME).collect();
    ids.extend(strategy.visible_gpus.iter().flatten());
    ids.extend(pipeline.data_gpu);
    ids.extend(pipeline.model_gpu);
    let count = u32::try_from(ids.len()).unwrap_or(u32::MAX);
    let mut machine = Machine::assume(host(), count, PLENTY);
    let gpus = machine
        .backends
        .iter_mut()
        .flat_map(|report| &mut report.gpus);
    for (gpu, id) in gpus.zip(ids) {
        gpu.id = id;
    }
    machine
}
