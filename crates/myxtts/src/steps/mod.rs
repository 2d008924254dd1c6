//! Measures steps of a configuration in a process of its own.
//!
//! A comparison, a what-if and a search measure configurations that may run out of memory, and
//! some settings of the engine can be made only once per process. So each is measured by a process
//! that calls [`measure`], and however that ends is a result. The process is this program with the
//! hidden command `probe-steps`: a program of your own that profiles or tunes must answer it, too.

mod child;
mod figures;
mod progress;
mod watchdog;
mod watched;

pub use child::Effort;
pub(crate) use child::{Candidate, Ended, Measured, medians};
pub use figures::Answer;
pub(crate) use figures::StepFigures;
pub(crate) use watchdog::Watchdog;

use std::time::Duration;

use myxtts_base::report;
use myxtts_config::Settings;
use myxtts_device::{Machine, Plan};
use myxtts_run::observer::Observer;
use myxtts_run::signals::StopRequest;
use myxtts_train::placement::Placement;
use myxtts_train::probe::{LaunchesAsked, ProbeRequest, probe};

pub use myxtts_train::probe::Listener;

use crate::dataset::prepare;
use crate::error::Error;
use crate::request::train_request;
use crate::settings::Config;
use crate::train::plan;

/// The words that tell a parent process that memory ran out.
const NO_MEMORY: &str = "does not fit:";

/// How much a measuring process does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// It runs every shape once or twice: enough to measure memory, not speed.
    Fits,
    /// It measures some steps.
    Steps {
        /// The number of steps.
        steps: u32,
        /// The time limit for them, in seconds.
        seconds: u32,
    },
}

impl Extent {
    /// Returns what is asked of a probe.
    pub(crate) fn request(self, listener: Listener) -> ProbeRequest {
        match self {
            // Two steps after every shape, however long they take.
            Self::Fits => ProbeRequest {
                warm_up_steps: 0,
                steps: 1,
                at_most: Duration::ZERO,
                settles: false,
                listener,
                ..ProbeRequest::default()
            },
            Self::Steps { steps, seconds } => ProbeRequest {
                launches: LaunchesAsked::Counted,
                steps: u64::from(steps),
                at_most: Duration::from_secs(u64::from(seconds)),
                listener,
                ..ProbeRequest::default()
            },
        }
    }
}

/// Measures steps of a configuration in this process. `listener` is told where it is.
///
/// # Errors
/// When the configuration cannot be trained on this machine, or memory runs out.
pub fn measure(
    settings: &Settings<Config>,
    machine: &Machine,
    extent: Extent,
    listener: Listener,
    observer: &dyn Observer,
) -> Result<Answer, Error> {
    let plan = plan(settings, machine)?;
    let stop = StopRequest::new();
    listener.tell("preparing the dataset");
    let dataset = prepare(settings, &stop, observer)?;
    let training = train_request(settings, &plan, dataset, String::new())?;
    listener.tell("opening the devices");
    let placement = Placement::of(&plan).map_err(Error::failed)?;
    let request = extent.request(listener);
    let probe = probe(&training, &placement, &request).map_err(|error| match error {
        error if error.is_out_of_memory() => Error::Failed(report!("{NO_MEMORY} {error}")),
        other => other.into(),
    })?;
    Ok(Answer {
        figures: StepFigures::of(&probe, &plan),
        signals: probe.signals(&training, &placement),
    })
}

/// Returns the line by which a measuring process says on its standard error where it is: the
/// process that started it has the clock.
pub fn line_of_progress(words: &str) -> String {
    format!("{}{words}", watched::AT)
}

/// Prepares the dataset in this process, where its progress is shown, so that no measured
/// process does.
pub(crate) fn prepare_once(
    settings: &Settings<Config>,
    plan: &Plan,
    stop: &StopRequest,
    observer: &dyn Observer,
) -> Result<(), Error> {
    let dataset = prepare(settings, stop, observer)?;
    train_request(settings, plan, dataset, String::new())?;
    Ok(())
}
