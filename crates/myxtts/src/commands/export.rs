//! `myxtts export`

use clap::ArgMatches;
use myxtts_weights::{read_ours, write_public};

use super::import::Report;
use crate::output::{Failure, Output};

pub(super) fn run(matches: &ArgMatches, output: &Output) -> Result<(), Failure> {
    let (from, out) = super::from_and_out(matches)?;
    let failed = |error: myxtts_weights::WeightsError| Failure::Job(error.to_string());
    let checkpoint = read_ours(from).map_err(failed)?;
    write_public(out, &checkpoint).map_err(failed)?;
    let report = Report::of(&checkpoint, out);
    output.result(&report.document(), &report)
}
