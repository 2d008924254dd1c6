//! What the engine reports when work on a device fails.
//!
//! The engine has no type for memory that ran out, only its message. The message is read once,
//! where it comes in; from there on the two are different variants.

use std::fmt;

use thiserror::Error;

use crate::panics::oom_line;

/// What the engine reported.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum EngineError {
    /// A device had no memory left.
    #[error("{line}")]
    OutOfMemory {
        /// The line of the report that says so, without the backtrace below it.
        line: String,
    },
    /// Something else failed.
    #[error("{text}")]
    Other {
        /// The whole report.
        text: String,
    },
}

impl EngineError {
    /// Reads a report of the engine.
    pub fn new(report: impl fmt::Display) -> Self {
        let text = report.to_string();
        match oom_line(&text) {
            Some(line) => Self::OutOfMemory {
                line: line.to_owned(),
            },
            None => Self::Other { text },
        }
    }
}

impl From<String> for EngineError {
    fn from(report: String) -> Self {
        Self::new(report)
    }
}

impl From<&str> for EngineError {
    fn from(report: &str) -> Self {
        Self::new(report)
    }
}

#[cfg(test)]
mod tests {
    use super::EngineError;

    #[test]
    fn memory_that_ran_out_is_a_variant() {
        let report = "An error happened\nout of device memory allocating 4096 bytes\n  at frame 1";
        let error = EngineError::new(report);
        assert!(matches!(error, EngineError::OutOfMemory { .. }));
        assert_eq!(
            error.to_string(),
            "out of device memory allocating 4096 bytes"
        );
        let report = "the device was lost\n  at frame 1";
        let error = EngineError::new(report);
        assert!(matches!(error, EngineError::Other { .. }));
        assert_eq!(error.to_string(), report);
    }
}
