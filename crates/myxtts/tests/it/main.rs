//! The program, driven as a person would.
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
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "test code"
)]

mod abuse;
mod architecture;
mod at_once;
mod bench_command;
mod commands;
mod config_command;
mod decoder_stage;
mod doctor_command;
mod evaluate_command;
mod examples;
mod file_errors;
mod flags_page;
mod full_disk;
mod gpu_flags;
mod gpu_measurements;
#[cfg(target_os = "linux")]
mod hanging;
mod library_face;
mod monitor_command;
mod odd_machines;
mod old_run;
mod overfit;
mod pipeline_flags;
mod plan_command;
mod prepare_command;
mod profile_command;
mod serve_command;
mod speech_parity;
mod split_long;
mod starting_weights;
mod support;
mod synthesize_command;
mod train_flags;
mod trials;
mod tune_command;
mod walk;
mod weights_commands;

use myxtts_testkit_model::tiny;
