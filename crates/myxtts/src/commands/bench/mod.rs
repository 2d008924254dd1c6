//! `myxtts bench`

mod data;
mod pipeline;
mod step;
mod synth;
mod synth_peer;
mod telemetry;
mod train;

use std::fmt;

use clap::ArgMatches;
use myxtts_device::Host;
use myxtts_device::discover::host;
use serde::Serialize;

use crate::output::{Failure, Output};

pub(super) fn run(matches: &ArgMatches, output: &Output) -> Result<(), Failure> {
    match matches.subcommand() {
        Some(("data", matches)) => data::run(matches, output),
        Some(("step", matches)) => step::run(matches, output),
        Some(("synth", matches)) => synth::run(matches, output),
        Some(("telemetry", matches)) => telemetry::run(matches, output),
        Some(("train", matches)) => train::run(matches, output),
        Some(("pipeline", matches)) => pipeline::run(matches, output),
        _ => Err(Failure::Usage("no subcommand was given".into())),
    }
}

/// Figures and what they were measured on.
#[derive(Serialize)]
struct Document<R> {
    machine: Host,
    #[serde(flatten)]
    report: R,
}

impl<R: Serialize + fmt::Display> Document<R> {
    fn print(report: R, output: &Output) -> Result<(), Failure> {
        let document = Self {
            machine: host(),
            report,
        };
        output.result(&document, &document)
    }
}

impl<R: fmt::Display> fmt::Display for Document<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}, {} cores", self.machine.name, self.machine.cores)?;
        self.report.fmt(f)
    }
}
