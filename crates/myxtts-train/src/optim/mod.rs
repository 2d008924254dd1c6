//! From gradients to better parameters.

mod adamw;
mod decay;
mod gradients;
mod moment;

pub use adamw::{AdamW, AdamWConfig, StateError};
pub use gradients::NamedGradients;
