//! Folders in, batches out.
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

mod cache;
mod codes;
mod generated_corpus;
mod host_stage;
mod layouts;
mod padding;
mod prepare;
mod sample_corpus;
mod schedule;
mod split;
