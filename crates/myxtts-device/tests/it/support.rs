//! Machines to plan for.

use myxtts_config::units::Megabytes;
use myxtts_device::{Host, Machine, PlanRequest};

pub fn host() -> Host {
    Host {
        name: "test processor".into(),
        cores: 8,
        memory: Megabytes(32_768),
    }
}

pub fn machine(gpus: u32) -> Machine {
    Machine::assume(host(), gpus, Megabytes(24_576))
}

/// A request with ids and keys marked as chosen by a person.
pub fn request(edit: impl FnOnce(&mut PlanRequest)) -> PlanRequest {
    let mut request = PlanRequest::default();
    edit(&mut request);
    request
}
