//! The model against the reference implementation's own numbers, and its parts alone.
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
mod crossfade;
mod dvae_training;
mod fixtures;
mod hifigan_training;
mod mel_host;
mod parity_dvae;
mod parity_hifigan;
mod parity_mel;
mod parity_speaker;
