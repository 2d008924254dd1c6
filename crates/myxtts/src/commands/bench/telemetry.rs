//! `myxtts bench telemetry`

use std::fmt;
use std::sync::Arc;

use clap::ArgMatches;
use myxtts_train::probe::{TelemetryFigures, measure_telemetry};
use serde::Serialize;

use super::Document;
use super::train::bench_training;
use crate::output::{Failure, Output};
use crate::terminal::Terminal;

/// What recording costs a training.
#[derive(Serialize)]
struct Report {
    size: String,
    batch_size: u32,
    #[serde(flatten)]
    figures: TelemetryFigures,
}

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
    Document::print(
        Report {
            size,
            batch_size,
            figures,
        },
        output,
    )
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            size,
            batch_size,
            figures,
        } = self;
        writeln!(
            f,
            "{size}, batch size {batch_size}, {} pairs of epochs of {} steps\n",
            figures.pairs, figures.steps
        )?;
        writeln!(f, "recorded epoch      {:>8.3} s", figures.with_s)?;
        writeln!(f, "unrecorded epoch    {:>8.3} s", figures.without_s)?;
        let [low, high] = figures.quartiles_pct;
        writeln!(
            f,
            "cost by pairs       {:>8.2} %  (half of the pairs between {low:.2} and {high:.2} %)",
            figures.cost_pct
        )?;
        writeln!(
            f,
            "on the thread       {:>8.3} %  of the recorded epochs",
            figures.thread_pct
        )
    }
}
