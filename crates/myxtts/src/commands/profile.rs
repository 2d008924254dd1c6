//! `myxtts profile`

use std::path::{Path, PathBuf};

use clap::ArgMatches;
use myxtts::machine::this_machine;
use myxtts::profile::Subject;
use myxtts::{Error, NewFile, report};

use super::probe_steps::effort;
use super::stop_request;
use crate::config;
use crate::output::{Failure, Output};

pub(super) fn run(matches: &ArgMatches, output: &Output) -> Result<(), Failure> {
    let subject = subject(matches)?;
    if matches.get_flag("compare") {
        return compare(&subject, matches, output);
    }
    match matches.get_one::<String>("what-if") {
        Some(edit) => what_if(&subject, edit, matches, output),
        None => stages(&subject, matches, output),
    }
}

/// Returns the configuration that the flags ask for, and this machine.
pub(super) fn subject(matches: &ArgMatches) -> Result<Subject, Failure> {
    let machine = this_machine()?;
    Ok(Subject {
        settings: config::load(&super::given(matches)?, &machine)?,
        keys: config::keys(),
        machine,
    })
}

fn compare(subject: &Subject, matches: &ArgMatches, output: &Output) -> Result<(), Failure> {
    let comparison = subject.compare(effort(matches), &stop_request()?, output)?;
    output.result(&comparison, &comparison)?;
    match comparison.problem() {
        None => Ok(()),
        Some(why) => Err(Failure::Result(why.into())),
    }
}

fn what_if(
    subject: &Subject,
    edit: &str,
    matches: &ArgMatches,
    output: &Output,
) -> Result<(), Failure> {
    let what_if = subject.what_if(edit, effort(matches), &stop_request()?, output)?;
    output.result(&what_if, &what_if)
}

fn stages(subject: &Subject, matches: &ArgMatches, output: &Output) -> Result<(), Failure> {
    let [trace, picture] = ["trace", "svg"].map(|name| matches.get_one::<PathBuf>(name));
    // Unwritable files are reported before anything is measured. They are begun again when there
    // is something to write: a signal in between leaves nothing beside them.
    for path in [trace, picture].into_iter().flatten() {
        drop(begin_file(path)?);
    }
    let report = subject.stages(effort(matches), bark(output), output)?;
    if let Some(path) = trace {
        let text = report.trace().map_err(|why| unwritten(path, &why))?;
        write_file(path, &text)?;
        output.log(format_args!(
            "{} written; open it at https://ui.perfetto.dev",
            path.display()
        ));
    }
    if let Some(path) = picture {
        write_file(path, report.svg().as_bytes())?;
        output.log(format_args!("{} written", path.display()));
    }
    output.result(&report, &report)
}

/// Returns what ends this process, with the reason, if the measurement hangs.
pub(super) fn bark(output: &Output) -> impl FnOnce(Error) + Send + use<> {
    let output = Output::new(output.is_json());
    move |error| {
        let failure = Failure::from(error);
        output.failure(&failure);
        std::process::exit(i32::from(failure.exit_code()));
    }
}

fn begin_file(path: &Path) -> Result<NewFile, Failure> {
    NewFile::beside(path).map_err(|why| {
        Failure::Usage(report!(
            "{} cannot be written: {why}", path.display();
            fix: "name a file in a folder that exists and may be written to"
        ))
    })
}

fn write_file(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    begin_file(path)?
        .keep(bytes)
        .map_err(|why| unwritten(path, &why))
}

fn unwritten(path: &Path, why: &std::io::Error) -> Failure {
    Failure::Job(report!("{} was not written: {why}", path.display()))
}
