//! `myxtts plan`

use clap::ArgMatches;
use myxtts::machine::{Megabytes, imagined, this_machine};
use myxtts::{Planned, report};

use crate::config;
use crate::output::{Failure, Output};

const ASSUMED_MEMORY: Megabytes = Megabytes(24_576);

pub(super) fn run(matches: &ArgMatches, output: &Output) -> Result<(), Failure> {
    let machine = match matches.get_one::<u32>("assume-gpus") {
        Some(count) => imagined(&assumed(matches, *count)?),
        None => this_machine()?,
    };
    let settings = config::load(&super::given(matches)?, &machine)?;
    let planned = Planned::of(&settings, &machine)?;
    output.result(&planned, &planned)
}

/// Returns the memory of each imaginary GPU: one size for all, or one for each.
fn assumed(matches: &ArgMatches, count: u32) -> Result<Vec<Megabytes>, Failure> {
    let given = matches.get_many::<u64>("assume-memory");
    let given: Vec<Megabytes> = given
        .into_iter()
        .flatten()
        .copied()
        .map(Megabytes)
        .collect();
    let all = |memory: Megabytes| vec![memory; count as usize];
    match given.as_slice() {
        [] => Ok(all(ASSUMED_MEMORY)),
        [memory] => Ok(all(*memory)),
        each if each.len() == count as usize => Ok(given),
        each => {
            let sizes: Vec<String> = each.iter().map(|mb| mb.0.to_string()).collect();
            Err(Failure::Usage(report!(
                "--assume-memory names {} sizes for {count} GPUs", each.len();
                fix: "one size for all, or one for each: --assume-gpus {} --assume-memory {}",
                    each.len(), sizes.join(",")
            )))
        }
    }
}
