//! The model that speaks, on its device.

use std::path::{Path, PathBuf};

use clap::ArgMatches;
use myxtts::machine::this_machine;
use myxtts::speech::newest_run;
use myxtts::{Error, InferError, Model, Pick, resolve};

use super::damaged;
use super::synthesize::failure;
use crate::config;
use crate::output::Failure;

/// The folder that trainings put their runs in.
const RUNS: &str = "runs";

/// Returns the folder of weights that the flags mean.
pub(in crate::commands) fn checkpoint(matches: &ArgMatches) -> Result<PathBuf, Failure> {
    let pick = match matches.get_flag("best") {
        true => Pick::Best,
        false => Pick::Newest,
    };
    let folder = match matches.get_one::<PathBuf>("checkpoint") {
        Some(folder) => folder.clone(),
        None => newest_run(Path::new(RUNS)).ok_or_else(|| {
            failure(InferError::NoCheckpoint {
                folder: RUNS.into(),
                why: "no run below it has a checkpoint".to_owned(),
            })
        })?,
    };
    resolve(&folder, pick).map_err(failure)
}

/// Loads the model of `checkpoint` on the device that the flags mean.
pub(in crate::commands) fn open_model(
    matches: &ArgMatches,
    checkpoint: &Path,
) -> Result<Model, Failure> {
    let machine = this_machine()?;
    let settings = config::load(&super::given(matches)?, &machine)?;
    Model::open(&settings, &machine, checkpoint).map_err(|error| match error {
        Error::Speech(error) => damaged::explained(failure(*error), checkpoint, |line, other| {
            damaged::with_flag(line, "--checkpoint", other)
        }),
        other => other.into(),
    })
}
