//! `myxtts tune`

use std::path::{Path, PathBuf};

use clap::ArgMatches;
use myxtts::machine::this_machine;
use myxtts::tune::{Knob, Tuner};

use super::probe_steps::effort;
use super::stop_request;
use crate::config;
use crate::output::{Failure, Output};

pub(super) fn run(matches: &ArgMatches, output: &Output) -> Result<(), Failure> {
    let machine = this_machine()?;
    let mut given = super::given(matches)?;
    let verified = matches.get_one::<PathBuf>("verify");
    if let Some(path) = verified {
        given.file = Some(path.clone());
    }
    let (keys, settings) = (config::keys(), config::load(&given, &machine)?);
    let (effort, stop) = (effort(matches), stop_request()?);
    let tuner = Tuner::new(&keys, &settings, &machine, effort, stop, output)?;
    match verified {
        Some(path) => verify(&tuner, path, output),
        None => tune(&tuner, matches, output),
    }
}

fn verify(tuner: &Tuner<'_>, path: &Path, output: &Output) -> Result<(), Failure> {
    let verified = tuner.verify(path)?;
    output.result(&verified, &verified)?;
    match verified.problem() {
        None => Ok(()),
        Some(problem) => Err(Failure::Result(problem)),
    }
}

fn tune(tuner: &Tuner<'_>, matches: &ArgMatches, output: &Output) -> Result<(), Failure> {
    let out = matches.get_one::<PathBuf>("out");
    let out = out.map_or(Path::new("myxtts.tuned.yaml"), PathBuf::as_path);
    let knobs = match matches.get_many::<String>("only") {
        Some(only) => {
            let only: Vec<&String> = only.collect();
            let is_asked = |knob: &Knob| only.iter().any(|asked| *asked == knob.name());
            Knob::ALL.into_iter().filter(is_asked).collect()
        }
        None => Knob::ALL.to_vec(),
    };
    let report = tuner.tune(&knobs, out, matches.get_flag("force"))?;
    output.result(&report, &report)
}
