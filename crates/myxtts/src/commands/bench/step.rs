//! `myxtts bench step`

use std::path::PathBuf;

use clap::ArgMatches;
use myxtts::bench::step;

use crate::output::{Failure, Output};

pub(super) fn run(matches: &ArgMatches, output: &Output) -> Result<(), Failure> {
    let steps = matches.get_one::<u32>("steps").copied().unwrap_or(1);
    let steps = usize::try_from(steps).unwrap_or(usize::MAX);
    let peer = matches.get_one::<PathBuf>("peer").map(PathBuf::as_path);
    let report = step(steps, peer, output)?;
    output.result(&report, &report)
}
