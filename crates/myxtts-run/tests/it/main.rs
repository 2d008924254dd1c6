//! A run as the processes of it see it: killed, interrupted, read by others.
#![allow(
    missing_docs,
    unreachable_pub,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "test code"
)]

mod again;
mod event_file;
mod kill;
mod run_folder;
mod signals;
