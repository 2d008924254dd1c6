//! `myxtts bench telemetry`

use std::sync::Arc;

use clap::ArgMatches;
use myxtts_bench::telemetry::{TelemetryReport, measure_telemetry};

use super::print;
use super::train::bench_training;
use crate::output::{Failure, Output};
use crate::terminal::Terminal;

pub(super) fn run(matches: &ArgMatches, output: &Output) -> Result<(), Failure> {
    let number = |name| matches.get_one::<u32>(name).copied().unwrap_or(1);
    let (pairs, batch_size) = (number("pairs"), number("batch-size"));
    let size = matches.get_one::<String>("size").cloned();
    let size = size.unwrap_or_else(|| "tiny".to_owned());
    let (training, placement) = bench_training(&size, batch_size, output)?;
    output.log(format_args!(
        "{size}: two epochs, then {pairs} pairs of epochs, one of each recorded"
    ));
    let figures = measure_telemetry(
        &training,
        &placement,
        pairs as usize,
        Arc::new(Terminal::new(1)),
    );
    let figures = figures.map_err(Failure::job)?;
    let report = TelemetryReport {
        size,
        batch_size,
        figures,
    };
    print(report, output)
}
