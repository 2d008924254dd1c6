//! Where the time of a training goes, and what to change.
//!
//! [`Signals`] are what was measured, each known or `unavailable` with its
//! reason. [`rules`] are pure functions from signals to a [`Finding`];
//! [`diagnose`] asks them all, leaves out what follows from something else,
//! and ranks the rest by the seconds that their fix gives back.

mod code;
pub mod collect;
mod diagnose;
mod finding;
mod lang;
mod model;
pub mod peak_flops;
mod reasons;
pub mod report;
pub mod rules;
mod run_folder;
mod signal;
pub mod signals;
pub mod stats;
#[cfg(test)]
mod testing;
mod texts;
pub mod units;
mod verdict;
pub mod what_if;

pub use code::Code;
pub use collect::Collector;
pub use diagnose::{Diagnosis, Explained, diagnose};
pub use finding::{Edit, Finding, Gain, Severity, SilentRule, Value};
pub use lang::Lang;
pub use report::{Extra, Report, sentence};
pub use run_folder::{NotARun, Note, RunReading, read_run};
pub use signal::{Signal, Silent};
pub use signals::Signals;
pub use verdict::Verdict;
pub use what_if::what_if;
