//! Discovery, telemetry and the plan.
//!
//! One binary: linking is what tests of this workspace wait for.
#![allow(
    missing_docs,
    unreachable_pub,
    clippy::cast_possible_truncation,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "test code"
)]

#[cfg(unix)]
mod discovery;
mod plan_memory;
mod plan_words;
mod strategy_table;
mod support;
mod telemetry;
