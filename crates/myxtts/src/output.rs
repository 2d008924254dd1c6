//! What a person or a program reads: data on stdout, everything else on stderr.

use std::fmt::Display;
use std::io::{self, Write};

use myxtts::{Observer, Preparing, Report, report};
use serde::Serialize;

use crate::terminal::Terminal;

/// The reason why a command did not do its job.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The job was tried and failed.
    Job(Report),
    /// The job was done, and its result, already printed, is a failure.
    Result(Report),
    /// The job could not be tried: wrong usage or configuration.
    Usage(Report),
    /// The command was asked to stop, and did; the code is its exit code.
    Stopped(Report, u8),
}

impl Failure {
    /// Makes the failure of a job that was tried, in the words of the error that ended it.
    pub(crate) fn job(error: impl Display) -> Self {
        Self::Job(Report::new(error.to_string()))
    }

    /// Makes the failure of a job that could not be tried, in the words of the error that says so.
    pub(crate) fn usage(error: impl Display) -> Self {
        Self::Usage(Report::new(error.to_string()))
    }

    /// Returns what the person reads.
    pub(crate) fn report(&self) -> &Report {
        match self {
            Self::Job(report)
            | Self::Result(report)
            | Self::Usage(report)
            | Self::Stopped(report, _) => report,
        }
    }
}

/// Prints results in the form that was asked for.
pub(crate) struct Output {
    json: bool,
    /// Where a preparation is shown. A training has a terminal of its own, for its threads.
    terminal: Terminal,
}

impl Output {
    pub(crate) fn new(json: bool) -> Self {
        Self {
            json,
            terminal: Terminal::new(1),
        }
    }

    /// Returns whether stdout is reserved for one JSON document.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// Prints a result: `document` as JSON if that was asked for, else `text`.
    pub(crate) fn result(
        &self,
        document: &impl Serialize,
        text: impl Display,
    ) -> Result<(), Failure> {
        if self.json {
            self.document(document)
        } else {
            self.text(text)
        }
    }

    /// Prints a result that is JSON by nature.
    pub(crate) fn document(&self, document: &impl Serialize) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(document).map_err(|why| {
            Failure::Job(report!("the result could not be written as JSON: {why}"))
        })?;
        self.text(text)
    }

    /// Prints text on stdout, ending in one line break.
    pub(crate) fn text(&self, text: impl Display) -> Result<(), Failure> {
        let text = text.to_string();
        let mut stdout = io::stdout().lock();
        let written =
            writeln!(stdout, "{}", text.trim_end_matches('\n')).and_then(|()| stdout.flush());
        match written {
            // The reader has left, as `head` does: nothing more is wanted.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            other => other.map_err(|why| Failure::Job(report!("cannot write to stdout: {why}"))),
        }
    }

    /// Writes a message to stderr. If stderr is closed, there is nobody to tell.
    pub(crate) fn log(&self, message: impl Display) {
        let _ = writeln!(io::stderr().lock(), "{message}");
    }

    /// Reports a failure: in words on stderr, and as a document for a program.
    pub(crate) fn failure(&self, failure: &Failure) {
        match failure {
            Failure::Stopped(report, _) => self.log(report),
            failure => self.log(format_args!("error: {}", failure.report())),
        }
        // At most one document may be printed, and a result was printed already.
        if self.json && !matches!(failure, Failure::Result(_) | Failure::Stopped(..)) {
            // If stdout breaks while a failure is reported, the exit code remains.
            let _ = self.document(&serde_json::json!({ "error": failure.report().to_string() }));
        }
    }
}

impl Observer for Output {
    fn line(&self, message: &str) {
        self.terminal.line(message);
    }

    fn preparing(&self, preparing: &Preparing) {
        self.terminal.preparing(preparing);
    }

    fn progress_ended(&self) {
        self.terminal.progress_ended();
    }
}
