//! `myxtts bench`

mod data;
mod gpu;
mod pipeline;
mod step;
mod synth;
mod telemetry;
mod train;

use clap::ArgMatches;

use crate::output::{Failure, Output};

pub(super) fn run(matches: &ArgMatches, output: &Output) -> Result<(), Failure> {
    match matches.subcommand() {
        Some(("data", matches)) => data::run(matches, output),
        Some(("gpu", matches)) => gpu::run(matches, output),
        Some(("step", matches)) => step::run(matches, output),
        Some(("synth", matches)) => synth::run(matches, output),
        Some(("telemetry", matches)) => telemetry::run(matches, output),
        Some(("train", matches)) => train::run(matches, output),
        Some(("pipeline", matches)) => pipeline::run(matches, output),
        _ => Err(Failure::Usage("no subcommand was given".into())),
    }
}
