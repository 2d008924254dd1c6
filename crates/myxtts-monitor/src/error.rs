//! Why the monitor cannot be shown.

use std::io;
use std::path::PathBuf;

use myxtts_base::report;

/// Why the monitor cannot be shown.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MonitorError {
    /// Nothing has the name that was given.
    #[error(
        "{}",
        report!(
            "`{}` is not a run, nor a folder of runs, nor a name below `runs`", asked.display();
            found: "{}", found(known);
            fix: "name a run's folder, such as `runs/NAME`, or leave it out to see all runs"
        )
    )]
    NoSuchRun {
        /// What was asked for.
        asked: PathBuf,
        /// The newest names below `runs`.
        known: Vec<String>,
    },
    /// What was asked for exists but cannot be read.
    #[error(
        "{}",
        report!(
            "{} cannot be read: {source}", asked.display();
            fix: "name a folder that you may read, or run it as its owner"
        )
    )]
    Unreadable {
        /// What was asked for.
        asked: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The terminal cannot be used.
    #[error(
        "{}",
        report!(
            "the terminal cannot be used: {source}";
            why: "it happened while {action}";
            fix: "use `myxtts monitor --once`, which needs no terminal"
        )
    )]
    Terminal {
        /// What was being tried.
        action: &'static str,
        /// The error of the system.
        source: io::Error,
    },
    /// A thread could not be started.
    #[error(
        "{}",
        report!(
            "the `{name}` thread could not be started: {source}";
            fix: "end other programs, or raise the thread limit (`ulimit -u`)"
        )
    )]
    Thread {
        /// The name of the thread.
        name: &'static str,
        /// The error of the system.
        source: io::Error,
    },
}

impl MonitorError {
    /// Returns a function that wraps an error of the terminal, for `map_err`.
    pub(crate) fn terminal(action: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Terminal { action, source }
    }

    /// Returns whether what was asked is at fault, and not what was tried.
    pub fn is_usage(&self) -> bool {
        matches!(self, Self::NoSuchRun { .. })
    }
}

fn found(known: &[String]) -> String {
    match known {
        [] => "no run below `runs`".to_owned(),
        known => format!("below `runs`: {}", known.join(", ")),
    }
}
