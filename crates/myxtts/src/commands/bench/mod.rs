//! `myxtts bench`

mod data;
mod step;

use clap::ArgMatches;

use crate::output::{Failure, Output};

pub(super) fn run(matches: &ArgMatches, output: &Output) -> Result<(), Failure> {
    match matches.subcommand() {
        Some(("data", matches)) => data::run(matches, output),
        Some(("step", matches)) => step::run(matches, output),
        _ => Err(Failure::Usage("no subcommand was given".to_owned())),
    }
}
