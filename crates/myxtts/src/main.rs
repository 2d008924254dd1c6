//! `myxtts`: flags -> configuration -> plan -> training.

mod cli;
mod commands;
mod config;
#[cfg(test)]
mod named;
mod output;
mod progress;
#[cfg(test)]
mod reference;
mod terminal;

use std::process::ExitCode;

use output::{Failure, Output};

fn main() -> ExitCode {
    let matches = cli::command().get_matches();
    let output = Output::new(matches.get_flag("json"));
    match commands::run(&matches, &output) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            output.failure(&failure);
            ExitCode::from(failure.exit_code())
        }
    }
}

impl Failure {
    /// The contract's exit codes.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Job(_) | Self::Result(_) => 1,
            Self::Usage(_) => 2,
            Self::Stopped(_, code) => *code,
        }
    }
}
