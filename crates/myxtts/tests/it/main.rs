//! The program, driven as a person would.
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

mod bench_command;
mod commands;
mod config_command;
mod flags_page;
mod plan_command;
mod prepare_command;
mod support;
mod weights_commands;
