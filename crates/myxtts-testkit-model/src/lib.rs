//! What tests of several crates share and the engine computes: reference numbers, a
//! tiny model, software GPUs.
#![allow(
    missing_docs,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "test code"
)]

#[cfg(feature = "reference")]
pub mod cpu;
#[cfg(feature = "reference")]
pub mod fixtures;
#[cfg(feature = "reference")]
pub mod gpt_fixture;
#[cfg(feature = "reference")]
pub mod parity;
#[cfg(feature = "software-gpus")]
pub mod software;
#[cfg(feature = "tiny")]
pub mod tiny;
