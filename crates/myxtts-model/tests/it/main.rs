//! The model against reference numbers and against what must hold for any.
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

mod codec_sizes;
mod dvae_training;
mod generate;
mod gpt_structure;
mod hifigan_training;
mod mel_host;
mod operations;
mod parity_beams;
mod public_names;
mod sizes;
mod wave_stream;

use myxtts_testkit_model::{cpu as place, fixtures, gpt_fixture};

myxtts_testkit_model::parity_tests!(crate::place::cases);
