//! `myxtts bench train`

use std::path::PathBuf;

use clap::ArgMatches;
use myxtts::bench::training;
use myxtts::machine::this_machine;

use crate::output::{Failure, Output};

const DEFAULT: [&str; 2] = ["tiny", "small"];

pub(super) fn run(matches: &ArgMatches, output: &Output) -> Result<(), Failure> {
    let number = |name| matches.get_one::<u32>(name).copied().unwrap_or(1);
    let (steps, batch_size) = (number("steps"), number("batch-size"));
    let peer = matches.get_one::<PathBuf>("peer").map(PathBuf::as_path);
    let sizes: Vec<String> = match matches.get_many::<String>("size") {
        Some(sizes) => sizes.cloned().collect(),
        None => DEFAULT.map(str::to_owned).to_vec(),
    };
    let report = training(&sizes, steps, batch_size, peer, this_machine, output)?;
    output.result(&report, &report)
}
