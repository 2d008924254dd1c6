//! From gradients to better parameters.

mod adamw;
mod attempt;
mod decay;
mod gradients;
mod moment;

pub use adamw::{AdamW, AdamWConfig, StateError};
pub(crate) use attempt::Condition;
pub use gradients::NamedGradients;
