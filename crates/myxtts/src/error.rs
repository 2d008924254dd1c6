//! What goes wrong in a preparation, a training, a synthesis or a measurement.

use std::error::Error as StdError;
use std::fmt::{self, Display};

use myxtts_base::Report;
use myxtts_config::Problems;
use myxtts_data::prepare::PrepareError;
use myxtts_device::PlanError;
use myxtts_infer::InferError;
use myxtts_run::signals::StopSignal;
use myxtts_train::TrainError;

/// Anything that can go wrong. Its text says what, where, why and how to mend it, in one line or
/// several.
#[derive(Debug)]
pub enum Error {
    /// The configuration says something that cannot be done; everything wrong with it is listed.
    Settings(Problems),
    /// This machine cannot do what the configuration asks of its devices.
    Plan(Box<PlanError>),
    /// The dataset cannot be prepared.
    Dataset(Box<PrepareError>),
    /// The training failed. What it had learned is in its last checkpoint.
    Training(Box<TrainError>),
    /// The model cannot be loaded or cannot speak.
    Speech(Box<InferError>),
    /// A [`StopRequest`](crate::StopRequest) ended it before there was anything to keep; the text
    /// says what was ended.
    Stopped(StopSignal, String),
    /// Something else was asked for that cannot be done, and nothing was tried.
    Refused(Report),
    /// Something else was tried and failed.
    Failed(Report),
}

impl Error {
    /// Makes the error of something that was not tried.
    pub(crate) fn refused(why: impl Display) -> Self {
        Self::Refused(Report::new(why.to_string()))
    }

    /// Makes the error of something that was tried.
    pub(crate) fn failed(why: impl Display) -> Self {
        Self::Failed(Report::new(why.to_string()))
    }

    /// Returns what a person reads, for a list that names it beside others.
    pub(crate) fn into_report(self) -> Report {
        match self {
            Self::Refused(why) | Self::Failed(why) => why,
            other => Report::new(other.to_string()),
        }
    }
}

impl Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Settings(why) => why.fmt(f),
            Self::Plan(why) => why.fmt(f),
            Self::Dataset(why) => why.fmt(f),
            Self::Training(why) => why.fmt(f),
            Self::Speech(why) => why.fmt(f),
            Self::Stopped(signal, words) => write!(f, "{}: {words}", signal.name()),
            Self::Refused(why) | Self::Failed(why) => why.fmt(f),
        }
    }
}

impl StdError for Error {
    /// Returns the cause below the error that is wrapped, whose text is this one's.
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            Self::Settings(why) => why.source(),
            Self::Plan(why) => why.source(),
            Self::Dataset(why) => why.source(),
            Self::Training(why) => why.source(),
            Self::Speech(why) => why.source(),
            Self::Stopped(..) | Self::Refused(_) | Self::Failed(_) => None,
        }
    }
}

impl From<Problems> for Error {
    fn from(why: Problems) -> Self {
        Self::Settings(why)
    }
}

impl From<PlanError> for Error {
    fn from(why: PlanError) -> Self {
        Self::Plan(Box::new(why))
    }
}

impl From<PrepareError> for Error {
    fn from(why: PrepareError) -> Self {
        Self::Dataset(Box::new(why))
    }
}

impl From<TrainError> for Error {
    fn from(why: TrainError) -> Self {
        Self::Training(Box::new(why))
    }
}

impl From<InferError> for Error {
    fn from(why: InferError) -> Self {
        Self::Speech(Box::new(why))
    }
}
