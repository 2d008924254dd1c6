//! The report on ledgers that are known, and on one of a real pipeline.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::cast_possible_truncation,
    missing_docs,
    reason = "test code"
)]

mod entries;
mod pictures;
mod real;
mod report;
