//! `myxtts bench gpu`

use clap::ArgMatches;

use crate::commands::probe_steps::effort;
use crate::commands::profile::{bark, subject};
use crate::output::{Failure, Output};

pub(super) fn run(matches: &ArgMatches, output: &Output) -> Result<(), Failure> {
    let report = subject(matches)?.gpu(effort(matches), bark(output), output)?;
    output.result(&report, &report)
}
