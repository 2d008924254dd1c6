//! The XTTS model, on the engine, for every backend.
//!
//! Parameters carry the public checkpoint's own names and shapes
//! ([`params`]), so that weights go in and out without a table.

mod adapter;
pub mod conditioning;
pub mod dvae;
pub mod generate;
pub mod gpt;
pub mod hifigan;
pub mod init;
pub mod layers;
pub mod mel;
pub mod params;
mod size;
pub mod speaker;
mod weight_norm;

pub use size::ModelSize;
