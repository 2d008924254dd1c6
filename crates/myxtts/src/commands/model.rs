//! The model that speaks, on its device.

use std::path::{Path, PathBuf};

use clap::ArgMatches;
use myxtts_device::{open, plan};
use myxtts_infer::{InferError, Pick, Synthesizer, newest_run, resolve};

use super::damaged;
use super::synthesize::failure;
use crate::config;
use crate::output::Failure;

/// The folder that trainings put their runs in.
const RUNS: &str = "runs";

/// A loaded model and its device.
pub(in crate::commands) struct Model {
    pub(in crate::commands) synthesizer: Synthesizer,
    /// The device the model is on, as shown in reports.
    pub(in crate::commands) device: String,
}

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

impl Model {
    pub(super) fn open(matches: &ArgMatches, checkpoint: &Path) -> Result<Self, Failure> {
        let machine = super::machine()?;
        let given = super::given(matches)?;
        let settings =
            config::load(&config::keys(), &given, || machine.clone()).map_err(Failure::usage)?;
        let plan = plan(&config::plan_request(&settings), &machine).map_err(Failure::usage)?;
        let Some(planned) = plan.model_devices.first() else {
            return Err(Failure::Job("the plan has no device for the model".into()));
        };
        let device = open(planned).map_err(Failure::job)?;
        Ok(Self {
            synthesizer: Synthesizer::open(checkpoint, &device).map_err(|error| {
                damaged::explained(failure(error), checkpoint, |line, other| {
                    damaged::with_flag(line, "--checkpoint", other)
                })
            })?,
            device: format!("{} ({})", planned.label(), planned.name),
        })
    }
}
