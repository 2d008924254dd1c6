//! Why the monitor cannot be shown.

use std::io;
use std::path::PathBuf;

/// Why the monitor cannot be shown.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MonitorError {
    /// Nothing has the name that was given.
    #[error(
        "`{}` is not a run, nor a folder of runs, nor a name below `runs`\n  \
         found: {}\n  \
         fix:   name a run's folder, as `runs/NAME`, or leave it out to see all",
        .asked.display(), found(.known)
    )]
    NoSuchRun {
        /// What was given.
        asked: PathBuf,
        /// Names below `runs`, the newest.
        known: Vec<String>,
    },
    /// It is there, and may not be looked into.
    #[error(
        "{} cannot be read: {source}\n  fix:   name a folder that you may read, or run it as its owner",
        .asked.display()
    )]
    Unreadable {
        /// What was given.
        asked: PathBuf,
        /// The system's words.
        source: io::Error,
    },
    /// The terminal does not do what it must.
    #[error(
        "the terminal cannot be used: {source}\n  \
         while: {action}\n  \
         fix:   use `myxtts monitor --once`, which needs none"
    )]
    Terminal {
        /// What was tried.
        action: &'static str,
        /// The system's words.
        source: io::Error,
    },
    /// A thread could not be started.
    #[error(
        "the `{name}` thread could not be started: {source}\n  fix:   end other programs, or raise the limit of threads (`ulimit -u`)"
    )]
    Thread {
        /// Its name.
        name: &'static str,
        /// The system's words.
        source: io::Error,
    },
}

impl MonitorError {
    /// For `map_err`.
    pub(crate) fn terminal(action: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Terminal { action, source }
    }

    /// Whether what was asked is at fault, and not what was tried.
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
