//! `myxtts export`

use clap::ArgMatches;
use myxtts::{InferError, Pick, resolve, weights};

use super::damaged;
use crate::output::{Failure, Output};

pub(super) fn run(matches: &ArgMatches, output: &Output) -> Result<(), Failure> {
    let (asked, out) = super::from_and_out(matches)?;
    let from = resolve(asked, Pick::Newest).map_err(|error| match error {
        InferError::NoCheckpoint { .. } | InferError::NoGpt { .. } => Failure::usage(error),
        other => Failure::job(other),
    })?;
    let transfer = weights::export(&from, out).map_err(|error| {
        damaged::explained(error.into(), &from, |line, other| {
            damaged::with_path(line, asked, other)
        })
    })?;
    output.result(&transfer.document(), &transfer)
}
