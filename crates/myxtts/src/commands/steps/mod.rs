//! Measures steps of a configuration in a process of its own.
//!
//! `profile --compare`, `--what-if` and `tune` measure configurations that may run out of
//! memory, and some settings of the engine can be made only once per process. So each is
//! measured by the hidden command `myxtts probe-steps`, and however that ends is a result.

mod child;
mod figures;
mod progress;
mod watchdog;
mod watched;

pub(crate) use child::{Candidate, Effort, Ended, Measured, medians};
pub(crate) use figures::{Answer, StepFigures};
pub(crate) use watchdog::Watchdog;

use std::io::Write;
use std::time::Duration;

use clap::ArgMatches;
use myxtts::internal::train_request;
use myxtts::prepare;
use myxtts_base::report;
use myxtts_config::Settings;
use myxtts_device::{Plan, plan};
use myxtts_run::signals::StopRequest;
use myxtts_train::placement::Placement;
use myxtts_train::probe::{LaunchesAsked, Listener, ProbeRequest, probe};

use super::failure::train_failure;
use super::{memory, parent};
use crate::config::{self, Config};
use crate::output::{Failure, Output};

/// The words that tell a parent process that memory ran out.
const NO_MEMORY: &str = "does not fit:";

/// `myxtts probe-steps`: prints an [`Answer`] as JSON.
pub(super) fn run(matches: &ArgMatches, output: &Output) -> Result<(), Failure> {
    let listener = match matches.get_flag("parent") {
        true => {
            // Without this thread the measurement still ends by its own limits.
            let _ = parent::when_gone(|| std::process::exit(1));
            Listener::new(say_where)
        }
        false => Listener::default(),
    };
    listener.tell("looking for devices");
    let machine = super::machine()?;
    let given = super::given(matches)?;
    let settings =
        config::load(&config::keys(), &given, || machine.clone()).map_err(Failure::usage)?;
    let request = memory::training_request(&settings, None)?;
    let plan = plan(&request, &machine).map_err(Failure::usage)?;
    let stop = StopRequest::new();
    listener.tell("preparing the dataset");
    let dataset = prepare(&settings, &stop, output)?;
    let training = train_request(&settings, &plan, dataset, String::new())?;
    listener.tell("opening the devices");
    let placement = Placement::of(&plan).map_err(Failure::job)?;
    let request = match matches.get_flag("fits") {
        // Two steps after every shape, however long they take.
        true => ProbeRequest {
            warm_up_steps: 0,
            steps: 1,
            at_most: Duration::ZERO,
            settles: false,
            listener,
            ..ProbeRequest::default()
        },
        false => ProbeRequest {
            launches: LaunchesAsked::Counted,
            listener,
            ..asked(matches)
        },
    };
    let probe = probe(&training, &placement, &request).map_err(|error| match error {
        error if error.is_out_of_memory() => Failure::Job(report!("{NO_MEMORY} {error}")),
        other => train_failure(other),
    })?;
    output.document(&Answer {
        figures: StepFigures::of(&probe, &plan),
        signals: probe.signals(&training, &placement),
    })
}

/// Reports on standard error where the process is, to the parent process, which has the clock.
fn say_where(words: &str) {
    // Without a reader there is nobody to tell.
    let _ = writeln!(std::io::stderr(), "{}{words}", watched::AT);
}

/// Returns how much to measure of each of several configurations, from the same flags.
pub(super) fn effort(matches: &ArgMatches) -> Effort {
    let number = |name: &str| matches.get_one::<u32>(name).copied().unwrap_or(1);
    Effort {
        rounds: number("rounds"),
        steps: number("steps"),
        seconds: number("seconds"),
        hang_limit: number("hang-limit"),
    }
}

/// Prepares the dataset in this process, where its progress is shown, so that no measured
/// process does.
pub(super) fn prepare_once(
    settings: &Settings<Config>,
    plan: &Plan,
    stop: &StopRequest,
    output: &Output,
) -> Result<(), Failure> {
    let dataset = prepare(settings, stop, output)?;
    train_request(settings, plan, dataset, String::new())?;
    Ok(())
}

/// Returns how long to measure, from the flags of `profile`, `tune` and `probe-steps`.
pub(super) fn asked(matches: &ArgMatches) -> ProbeRequest {
    let number = |name: &str| matches.get_one::<u32>(name).copied().map(u64::from);
    let defaults = ProbeRequest::default();
    ProbeRequest {
        steps: number("steps").unwrap_or(defaults.steps),
        at_most: number("seconds").map_or(defaults.at_most, Duration::from_secs),
        ..defaults
    }
}
