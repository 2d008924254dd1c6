//! `myxtts export`

use std::path::Path;

use clap::ArgMatches;
use myxtts_infer::{InferError, ModelCard, Pick, resolve};
use myxtts_weights::{read_ours, write_public};

use super::damaged;
use super::import::Report;
use crate::output::{Failure, Output};

pub(super) fn run(matches: &ArgMatches, output: &Output) -> Result<(), Failure> {
    let (asked, out) = super::from_and_out(matches)?;
    let from = resolve(asked, Pick::Newest).map_err(|error| match error {
        InferError::NoCheckpoint { .. } | InferError::NoGpt { .. } => Failure::usage(error),
        other => Failure::job(other),
    })?;
    export(&from, out, output).map_err(|failure| {
        damaged::explained(failure, &from, |line, other| {
            damaged::with_path(line, asked, other)
        })
    })
}

fn export(from: &Path, out: &Path, output: &Output) -> Result<(), Failure> {
    let checkpoint = read_ours(from).map_err(Failure::job)?;
    if checkpoint.model.is_some() {
        // A card that is wrong would be published as a configuration.
        ModelCard::of(&checkpoint).map_err(Failure::job)?;
    }
    write_public(out, &checkpoint).map_err(Failure::job)?;
    let report = Report::of(&checkpoint, out);
    output.result(&report.document(), &report)
}
