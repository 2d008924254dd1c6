//! `myxtts plan`

use clap::ArgMatches;
use myxtts_config::units::Megabytes;
use myxtts_device::discover::host;
use myxtts_device::{Machine, Plan, plan};
use serde::Serialize;

use crate::config;
use crate::figures::ModelFigures;
use crate::outline::Outline;
use crate::output::{Failure, Output};

const ASSUMED_MEMORY: Megabytes = Megabytes(24_576);

pub(super) fn run(matches: &ArgMatches, output: &Output) -> Result<(), Failure> {
    let machine = match matches.get_one::<u32>("assume-gpus") {
        Some(count) => {
            let memory = matches.get_one::<u64>("assume-memory");
            Machine::assume(
                host(),
                *count,
                memory.map_or(ASSUMED_MEMORY, |mb| Megabytes(*mb)),
            )
        }
        None => super::machine()?,
    };
    let settings = config::load(&config::keys(), &super::given(matches)?, || machine.clone())
        .map_err(Failure::usage)?;
    let plan = plan(&config::plan_request(&settings), &machine).map_err(Failure::usage)?;
    let model = ModelFigures::of(&settings.config);
    let outline = Outline::of(&settings)?;
    let words = format!("{plan}\n{outline}\n{model}");
    let document = Document {
        plan,
        training: outline,
        model,
    };
    output.result(&document, &words)
}

/// The plan and what it is for.
#[derive(Serialize)]
struct Document {
    #[serde(flatten)]
    plan: Plan,
    training: Outline,
    model: ModelFigures,
}
