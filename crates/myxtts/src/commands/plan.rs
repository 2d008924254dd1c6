//! `myxtts plan`

use clap::ArgMatches;
use myxtts::internal::Outline;
use myxtts_base::report;
use myxtts_config::units::Megabytes;
use myxtts_device::discover::host;
use myxtts_device::{Backend, Machine, Plan, plan};
use serde::Serialize;

use super::memory;
use crate::config;
use crate::figures::ModelFigures;
use crate::output::{Failure, Output};

const ASSUMED_MEMORY: Megabytes = Megabytes(24_576);

pub(super) fn run(matches: &ArgMatches, output: &Output) -> Result<(), Failure> {
    let machine = match matches.get_one::<u32>("assume-gpus") {
        Some(count) => Machine::assume_each(host(), &assumed(matches, *count)?),
        None => super::machine()?,
    };
    let settings = config::load(&config::keys(), &super::given(matches)?, || machine.clone())
        .map_err(Failure::usage)?;
    let request = memory::training_request(&settings, memory::clips(&settings))?;
    let plan = plan(&request, &machine).map_err(Failure::usage)?;
    let on_cpu = plan.data_device.backend == Backend::Cpu;
    let sizes = config::sizes(&settings).map_err(Failure::usage)?;
    let model = ModelFigures::of(
        &settings.config,
        &sizes,
        plan.precision,
        plan.savings.recompute,
        on_cpu,
    );
    let outline = Outline::of(&settings)?;
    let words = format!("{plan}\n{outline}\n{model}");
    let document = Document {
        plan,
        training: outline,
        model,
    };
    output.result(&document, &words)
}

/// Returns the memory of each imaginary GPU: one size for all, or one for each.
fn assumed(matches: &ArgMatches, count: u32) -> Result<Vec<Megabytes>, Failure> {
    let given = matches.get_many::<u64>("assume-memory");
    let given: Vec<Megabytes> = given
        .into_iter()
        .flatten()
        .copied()
        .map(Megabytes)
        .collect();
    let all = |memory: Megabytes| vec![memory; count as usize];
    match given.as_slice() {
        [] => Ok(all(ASSUMED_MEMORY)),
        [memory] => Ok(all(*memory)),
        each if each.len() == count as usize => Ok(given),
        each => {
            let sizes: Vec<String> = each.iter().map(|mb| mb.0.to_string()).collect();
            Err(Failure::Usage(report!(
                "--assume-memory names {} sizes for {count} GPUs", each.len();
                fix: "one size for all, or one for each: --assume-gpus {} --assume-memory {}",
                    each.len(), sizes.join(",")
            )))
        }
    }
}

/// The plan and what it is for.
#[derive(Serialize)]
struct Document {
    #[serde(flatten)]
    plan: Plan,
    training: Outline,
    model: ModelFigures,
}
