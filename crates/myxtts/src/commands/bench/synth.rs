//! `myxtts bench synth`

use std::path::PathBuf;

use clap::ArgMatches;
use myxtts::bench::{ModelSize, SynthRequest, speech};

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
    let report = speech(&request, output)?;
    output.result(&report, &report)
}
