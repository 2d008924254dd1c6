//! `myxtts bench telemetry`

use std::sync::Arc;

use clap::ArgMatches;
use myxtts::bench::telemetry;
use myxtts::machine::this_machine;

use crate::output::{Failure, Output};
use crate::terminal::Terminal;

pub(super) fn run(matches: &ArgMatches, output: &Output) -> Result<(), Failure> {
    let number = |name| matches.get_one::<u32>(name).copied().unwrap_or(1);
    let (pairs, batch_size) = (number("pairs"), number("batch-size"));
    let size = matches.get_one::<String>("size");
    let size = size.map_or("tiny", String::as_str);
    let shown = Arc::new(Terminal::new(1));
    let report = telemetry(size, pairs, batch_size, &this_machine()?, output, shown)?;
    output.result(&report, &report)
}
