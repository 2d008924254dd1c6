//! `myxtts import`

use clap::ArgMatches;
use myxtts::weights;

use crate::output::{Failure, Output};

pub(super) fn run(matches: &ArgMatches, output: &Output) -> Result<(), Failure> {
    let (from, out) = super::from_and_out(matches)?;
    let transfer = weights::import(from, out)?;
    output.result(&transfer.document(), &transfer)
}
