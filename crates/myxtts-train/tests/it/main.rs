//! The optimizer against reference numbers, the feed against a plain loop, and
//! a stage on several devices against one device.
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

mod accumulation;
mod adapters;
mod checkpoints;
mod decoder;
mod encode;
mod equalities;
mod faults;
mod feed;
mod lost_clips;
mod mini;
mod optimizer;
mod overfit;
mod parity_adamw;
mod pieces;
mod precision;
mod probe;
mod random_steps;
mod samples;
mod small_stage;
mod stops;
mod times;
mod trials;
mod world;

use myxtts_testkit_model::{cpu as place, fixtures, gpt_fixture};
