//! The fast operations against their definitions.
#![allow(
    missing_docs,
    unreachable_pub,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "test code"
)]

mod attention;
mod compute;
mod conv;
mod dropout;
mod linear;
mod loss;
mod norm;
mod optimizer;
mod packed;
mod support;
mod threads;
