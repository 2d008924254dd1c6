//! What tests of several crates share. Nothing here knows the engine, so that tests
//! of crates without it do not wait for it; `myxtts-testkit-model` holds the rest.
#![allow(missing_docs, clippy::panic, clippy::unwrap_used, reason = "test code")]

mod shared_folder;
#[cfg(target_os = "linux")]
pub mod terminal;

pub use shared_folder::SharedFolder;
