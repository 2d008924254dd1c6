//! Every parity test again on real Vulkan devices, and what else must hold there.
//!
//! One binary, because each test would otherwise compile the kernels of the others again.
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

mod as_on_the_cpu;
mod feed;
mod fusion;
mod gpu;
mod late;
mod memory;
#[path = "../it/mini.rs"]
mod mini;
#[path = "../it/overfit.rs"]
mod overfit;
#[path = "../it/parity_adamw.rs"]
mod parity_adamw;
mod precision;
mod train;
mod trials;

use gpu as place;
use myxtts_testkit_model::{fixtures, gpt_fixture, software};

myxtts_testkit_model::parity_tests!(crate::place::cases);
