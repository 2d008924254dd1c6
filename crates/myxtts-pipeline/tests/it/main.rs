//! The pipeline from outside.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::cast_possible_truncation,
    missing_docs,
    reason = "test code"
)]

mod adapting;
mod bounds;
mod faults;
mod order;
mod support;
mod words;
