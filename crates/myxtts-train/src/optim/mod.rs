//! From gradients to better parameters.

mod adamw;
mod decay;
mod gradients;

pub use adamw::{AdamW, AdamWConfig, StateError};
pub use gradients::NamedGradients;
