//! What an error of the library is to a person who typed a command: wrong usage, or a job that
//! failed.

use myxtts::{Error, PrepareError, TrainError};

use super::{stopped, synthesize};
use crate::output::Failure;

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Settings(why) => Self::usage(why),
            Error::Plan(why) => Self::usage(why),
            Error::Dataset(why) => dataset_failure(*why),
            Error::Training(why) => train_failure(*why),
            Error::Speech(why) => synthesize::failure(*why),
            Error::Stopped(signal, words) => stopped(signal, words),
            Error::Refused(why) => Self::Usage(why),
            Error::Failed(why) => Self::Job(why),
        }
    }
}

/// What a preparation that failed is to a person.
fn dataset_failure(error: PrepareError) -> Failure {
    match error {
        PrepareError::Layout(_)
        | PrepareError::Language(_)
        | PrepareError::WhichLanguage { .. }
        | PrepareError::WrongScript { .. }
        | PrepareError::SameFolder { .. } => Failure::usage(error),
        other => Failure::job(other),
    }
}

/// What a training that failed is to a person.
pub(super) fn train_failure(error: TrainError) -> Failure {
    match error {
        TrainError::Usage(message) => Failure::Usage(message),
        other => Failure::job(other),
    }
}
