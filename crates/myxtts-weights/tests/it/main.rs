//! Files in, tensors out, and back.
#![allow(
    missing_docs,
    unreachable_pub,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "test code"
)]

mod fixtures;
mod hostile_pickles;
mod hostile_zips;
mod layouts;
mod names;
mod round_trip;
mod support;
