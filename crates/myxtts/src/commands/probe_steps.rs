//! `myxtts probe-steps`: the measuring process of `profile` and `tune`.

use std::io::Write;

use clap::ArgMatches;
use myxtts::machine::this_machine;
use myxtts::steps::{Effort, Extent, Listener, line_of_progress, measure};

use super::parent;
use crate::config;
use crate::output::{Failure, Output};

/// Prints what was measured as JSON.
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
    let machine = this_machine()?;
    let settings = config::load(&super::given(matches)?, &machine)?;
    let extent = match matches.get_flag("fits") {
        true => Extent::Fits,
        false => Extent::Steps {
            steps: number(matches, "steps"),
            seconds: number(matches, "seconds"),
        },
    };
    output.document(&measure(&settings, &machine, extent, listener, output)?)
}

/// Reports on standard error where the process is, to the parent process.
fn say_where(words: &str) {
    // Without a reader there is nobody to tell.
    let _ = writeln!(std::io::stderr(), "{}", line_of_progress(words));
}

/// Returns how much to measure, from the flags of `profile`, `tune` and `bench gpu`; the last has
/// one configuration, and so no rounds.
pub(super) fn effort(matches: &ArgMatches) -> Effort {
    Effort {
        rounds: number(matches, "rounds"),
        steps: number(matches, "steps"),
        seconds: number(matches, "seconds"),
        hang_limit: number(matches, "hang-limit"),
    }
}

/// Returns the number of a flag, which has a default in every command that has the flag.
fn number(matches: &ArgMatches, name: &str) -> u32 {
    let number = matches.try_get_one::<u32>(name).ok().flatten();
    number.copied().unwrap_or(1)
}
