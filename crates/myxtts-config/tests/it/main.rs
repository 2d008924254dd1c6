//! The loader, fed as a person would and as nobody should.
//!
//! One binary: linking is what tests of this workspace wait for.
#![allow(
    missing_docs,
    unreachable_pub,
    clippy::cast_possible_truncation,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "test code"
)]

mod files;
mod properties;
mod support;
mod text_values;
