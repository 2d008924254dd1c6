//! `myxtts monitor`

use std::path::PathBuf;

use clap::ArgMatches;
use myxtts::monitor::{Ending, MonitorError, Once, devices, is_capable, watch};
use myxtts::report;

use super::stop_request;
use crate::output::{Failure, Output};

pub(super) fn run(matches: &ArgMatches, output: &Output) -> Result<(), Failure> {
    let asked = matches.get_one::<PathBuf>("run").map(PathBuf::as_path);
    if matches.get_flag("once") || output.is_json() || !is_capable() {
        let once = Once::look(asked, devices()).map_err(failure)?;
        return output.result(&once.document(), once.text());
    }
    let stop = stop_request()?;
    match watch(asked, has_colour(), devices(), &stop).map_err(failure)? {
        Ending::Quit => Ok(()),
        Ending::Stopped(signal) => Err(Failure::Stopped(
            report!("stopped by {}", signal.name()),
            u8::try_from(signal.exit_code()).unwrap_or(u8::MAX),
        )),
        Ending::TerminalGone => Err(Failure::Job("the terminal is gone".into())),
    }
}

/// Returns whether colour is wanted: `NO_COLOR`, set to anything, turns it off.
fn has_colour() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

fn failure(error: MonitorError) -> Failure {
    match error.is_usage() {
        true => Failure::usage(error),
        false => Failure::job(error),
    }
}
