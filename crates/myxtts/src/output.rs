//! What a person or a program reads: data on stdout, everything else on stderr.

use std::fmt::Display;
use std::io::{self, Write};

use serde::Serialize;

/// Why a command did not do its job.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It was tried and failed.
    Job(String),
    /// It was done and its result, already printed, is a failure.
    Result(String),
    /// It could not be tried: wrong usage or configuration.
    Usage(String),
    /// Somebody asked it to stop, and it did; with the exit code that says so.
    Stopped(String, u8),
}

impl Failure {
    pub(crate) fn usage(error: impl Display) -> Self {
        Self::Usage(error.to_string())
    }

    pub(crate) fn message(&self) -> &str {
        match self {
            Self::Job(message)
            | Self::Result(message)
            | Self::Usage(message)
            | Self::Stopped(message, _) => message,
        }
    }
}

/// Where results go, and in which form.
pub(crate) struct Output {
    json: bool,
}

impl Output {
    pub(crate) fn new(json: bool) -> Self {
        Self { json }
    }

    /// Whether stdout is for one JSON document.
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
            Failure::Job(format!("the result could not be written as JSON: {why}"))
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
            other => other.map_err(|why| Failure::Job(format!("cannot write to stdout: {why}"))),
        }
    }

    /// Says something on stderr. A closed stderr has nobody to tell.
    pub(crate) fn log(&self, message: impl Display) {
        let _ = writeln!(io::stderr().lock(), "{message}");
    }

    /// Reports a failure: in words on stderr, and as a document for a program.
    pub(crate) fn failure(&self, failure: &Failure) {
        match failure {
            Failure::Stopped(message, _) => self.log(message),
            failure => self.log(format_args!("error: {}", failure.message())),
        }
        // A result that was printed is the one document there may be.
        if self.json && !matches!(failure, Failure::Result(_) | Failure::Stopped(..)) {
            // A broken stdout while reporting a failure: the exit code remains.
            let _ = self.document(&serde_json::json!({ "error": failure.message() }));
        }
    }
}
