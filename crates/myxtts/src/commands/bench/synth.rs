//! `myxtts bench synth`

use std::path::PathBuf;

use clap::ArgMatches;
use myxtts_bench::synth::{SynthError, SynthRequest, measure};
use myxtts_model::ModelSize;

use super::print;
use crate::output::{Failure, Output};

pub(super) fn run(matches: &ArgMatches, output: &Output) -> Result<(), Failure> {
    let rounds = matches.get_one::<u32>("rounds").copied().unwrap_or(1);
    let request = SynthRequest {
        size: match matches.get_one::<String>("size").map(String::as_str) {
            Some("small") => ModelSize::Small,
            Some("xtts-v2") => ModelSize::XttsV2,
            _ => ModelSize::Tiny,
        },
        rounds: usize::try_from(rounds).unwrap_or(1),
        python: matches.get_one::<PathBuf>("peer").cloned(),
        program: std::env::current_exe().map_err(Failure::job)?,
    };
    let report = measure(&request, &|line| output.log(line));
    let report = report.map_err(|error| match error {
        SynthError::Python { .. } => Failure::usage(error),
        error => Failure::job(error),
    })?;
    print(report, output)
}
