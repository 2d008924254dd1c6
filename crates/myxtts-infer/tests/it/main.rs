//! Weights into a voice that speaks, on a model small enough for a test.
#![allow(
    missing_docs,
    unreachable_pub,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "test code"
)]

mod copies;
mod folders;
mod mutations;
mod public;
mod refusals;
mod speaking;
mod voices;

use myxtts_testkit_model::tiny;
