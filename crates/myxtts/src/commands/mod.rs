//! One file per command.

mod bench;
mod config;
mod damaged;
mod devices;
mod doctor;
mod evaluate;
mod export;
mod failure;
mod import;
mod later;
mod model;
mod monitor;
mod parent;
mod plan;
mod prepare;
mod probe_steps;
mod profile;
mod serve;
mod synthesize;
mod train;
mod tune;

use std::path::{Path, PathBuf};

use clap::ArgMatches;
use myxtts::settings::Layer;
use myxtts::{Given, StopRequest, StopSignal, probe, report};

use crate::cli::{self, flags};
use crate::output::{Failure, Output};

/// Runs the command that was typed.
pub(crate) fn run(matches: &ArgMatches, output: &Output) -> Result<(), Failure> {
    match matches.subcommand() {
        Some(("train", matches)) => train::run(matches, output),
        Some(("plan", matches)) => plan::run(matches, output),
        Some(("prepare", matches)) => prepare::run(matches, output),
        Some(("synthesize", matches)) => synthesize::run(matches, output),
        Some(("evaluate", matches)) => evaluate::run(matches, output),
        Some(("serve", matches)) => serve::run(matches, output),
        Some(("doctor", matches)) => doctor::run(matches, output),
        Some(("monitor", matches)) => monitor::run(matches, output),
        Some(("profile", matches)) => profile::run(matches, output),
        Some(("tune", matches)) => tune::run(matches, output),
        Some(("devices", _)) => devices::run(output),
        Some(("config", matches)) => config::run(matches, output),
        Some(("import", matches)) => import::run(matches, output),
        Some(("export", matches)) => export::run(matches, output),
        Some(("bench", matches)) => bench::run(matches, output),
        Some(("completions", matches)) => completions(matches, output),
        Some(("probe-backend", matches)) => probe_backend(matches, output),
        Some(("probe-steps", matches)) => probe_steps::run(matches, output),
        Some((name, _)) => later::run(name),
        None => Err(Failure::Usage("no command was given".into())),
    }
}

/// Returns what a person gave: flags, their file, the environment.
fn given(matches: &ArgMatches) -> Result<Given, Failure> {
    let (file, flags) = flags::given(matches).map_err(Failure::Usage)?;
    Ok(Given {
        file,
        environment: environment(),
        shorthands: Layer::default(),
        flags,
    })
}

/// The end of a command that a signal stopped before there was anything to keep.
fn stopped(signal: StopSignal, words: impl std::fmt::Display) -> Failure {
    let code = u8::try_from(signal.exit_code()).unwrap_or(1);
    Failure::Stopped(report!("{}: {words}", signal.name()), code)
}

/// Catches the signals that ask for an orderly end.
fn stop_request() -> Result<StopRequest, Failure> {
    StopRequest::install().map_err(|why| Failure::Job(report!("signals cannot be caught: {why}")))
}

/// Returns the two folders of `import` and `export`; both are required arguments.
fn from_and_out(matches: &ArgMatches) -> Result<(&Path, &Path), Failure> {
    let path = |name| {
        let path = matches.get_one::<PathBuf>(name).map(PathBuf::as_path);
        path.ok_or_else(|| Failure::Usage(report!("`{name}` was not given")))
    };
    Ok((path("from")?, path("out")?))
}

/// Returns the environment without values that are not text; ours always are.
fn environment() -> Vec<(String, String)> {
    let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        Some((
            name.into_string().ok()?,
            value.to_string_lossy().into_owned(),
        ))
    };
    std::env::vars_os().filter_map(text).collect()
}

fn probe_backend(matches: &ArgMatches, output: &Output) -> Result<(), Failure> {
    let name = matches
        .get_one::<String>("backend")
        .map_or("", String::as_str);
    match probe(name) {
        Some(answer) => output.document(&answer),
        None => Err(Failure::Usage(report!("`{name}` is not a GPU backend"))),
    }
}

fn completions(matches: &ArgMatches, output: &Output) -> Result<(), Failure> {
    let Some(shell) = matches.get_one::<clap_complete::Shell>("shell") else {
        return Err(Failure::Usage("name a shell".into()));
    };
    let mut script = Vec::new();
    clap_complete::generate(*shell, &mut cli::command(), "myxtts", &mut script);
    output.text(String::from_utf8_lossy(&script))
}
