//! `myxtts bench pipeline`

use std::time::Duration;

use clap::ArgMatches;
use myxtts::bench::{PipelineRequest, pipeline};

use crate::output::{Failure, Output};

pub(super) fn run(matches: &ArgMatches, output: &Output) -> Result<(), Failure> {
    let number = |name: &str| matches.get_one::<u32>(name).copied();
    // A sleeping step leaves every core to the data.
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let given = number("workers").and_then(|workers| usize::try_from(workers).ok());
    let report = pipeline(&PipelineRequest {
        clips: number("clips").unwrap_or(1),
        steps: number("steps").unwrap_or(1).into(),
        step: Duration::from_millis(number("step-ms").unwrap_or(0).into()),
        batch_size: number("batch-size").unwrap_or(1),
        workers: given.unwrap_or_else(cores),
    })?;
    output.result(&report, &report)
}
