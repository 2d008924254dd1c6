//! A server with a model too small to say anything sensible, on a free port.
//!
//! One binary: linking is what tests of this workspace wait for.
#![allow(
    missing_docs,
    unreachable_pub,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "test code"
)]

mod access;
mod client;
mod crowd;
mod leaving;
mod refusals;
mod running;
mod slow;
mod speech;

use myxtts_testkit_model::tiny;
