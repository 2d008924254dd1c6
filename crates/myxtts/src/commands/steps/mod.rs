//! Steps of a configuration, measured in a process of its own.
//!
//! `profile --compare`, `--what-if` and `tune` measure configurations that may
//! run out of memory, and some settings of the engine can be made only once in a
//! process. So each is measured by `myxtts probe-steps`, hidden, and whatever
//! becomes of that is one more result.

mod child;
mod figures;

pub(crate) use child::{Candidate, Ended, Measured, medians};
pub(crate) use figures::{Answer, StepFigures};

use std::time::Duration;

use clap::ArgMatches;
use myxtts_device::{plan, told_of_memory};
use myxtts_run::signals::StopRequest;
use myxtts_train::placement::Placement;
use myxtts_train::run::{ProbeRequest, probe};

use super::{memory, parent, train};
use crate::config;
use crate::output::{Failure, Output};

/// Words that tell a parent process that memory was short.
const NO_MEMORY: &str = "does not fit:";

/// `myxtts probe-steps`: prints an [`Answer`] as JSON.
pub(super) fn run(matches: &ArgMatches, output: &Output) -> Result<(), Failure> {
    if matches.get_flag("parent") {
        // Without the thread the measurement still ends by its own bounds.
        let _ = parent::when_gone(|| std::process::exit(1));
    }
    let machine = super::machine()?;
    let given = super::given(matches)?;
    let settings =
        config::load(&config::keys(), &given, || machine.clone()).map_err(Failure::usage)?;
    let request = memory::training_request(&settings, None)?;
    let plan = plan(&request, &machine).map_err(Failure::usage)?;
    let stop = StopRequest::new();
    let job = train::job(&settings, &plan, &stop, output, String::new(), None)?;
    let placement = Placement::of(&plan).map_err(|why| Failure::Job(why.to_string()))?;
    let probe = probe(&job, &placement, &asked(matches)).map_err(|error| match error {
        error if told_of_memory(&error.to_string()).is_some() => {
            Failure::Job(format!("{NO_MEMORY} {error}"))
        }
        other => train::train_failure(other),
    })?;
    output.document(&Answer {
        figures: StepFigures::of(&probe, &plan),
        signals: probe.signals(&job, &placement),
    })
}

/// How long to measure, by the flags of `profile`, `tune` and `probe-steps`.
pub(super) fn asked(matches: &ArgMatches) -> ProbeRequest {
    let number = |name: &str| matches.get_one::<u32>(name).copied().map(u64::from);
    let defaults = ProbeRequest::default();
    ProbeRequest {
        steps: number("steps").unwrap_or(defaults.steps),
        at_most: number("seconds").map_or(defaults.at_most, Duration::from_secs),
        ..defaults
    }
}
