//! The XTTS model, on the engine, for every backend.
//!
//! Parameters carry the public checkpoint's own names and shapes
//! ([`params`]), so that weights go in and out without a table.

pub mod conditioning;
pub mod generate;
pub mod gpt;
pub mod init;
pub mod layers;
pub mod params;
mod size;

pub use size::ModelSize;
