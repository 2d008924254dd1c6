//! `myxtts bench step`

use std::path::PathBuf;

use clap::ArgMatches;
use myxtts_bench::step::{self, PEER, PeerSteps};

use super::print;
use crate::output::{Failure, Output};

pub(super) fn run(matches: &ArgMatches, output: &Output) -> Result<(), Failure> {
    let steps = matches.get_one::<u32>("steps").copied().unwrap_or(1);
    let steps = usize::try_from(steps).unwrap_or(usize::MAX);
    let peer = matches.get_one::<PathBuf>("peer");
    let peer = peer.map(|path| PEER.read::<PeerSteps>(path)).transpose();
    let peer = peer.map_err(Failure::usage)?.unwrap_or_default();
    let log = |case: &step::Case| output.log(format_args!("{}: {} steps", case.name, steps));
    let report = step::measure(steps, &peer, log);
    print(report.map_err(Failure::job)?, output)
}
