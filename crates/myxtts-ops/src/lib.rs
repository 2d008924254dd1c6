//! Operations that training spends its time in, behind one signature each.
//!
//! Every one is defined by a plain composition of the engine's operations,
//! which is what GPUs run and what the tests compare against.

mod activation;
mod attention;
mod dropout;
mod loss;
mod norm;

pub use activation::{gelu_erf, gelu_tanh};
pub use attention::{AttentionMask, attention};
pub use dropout::{Dropout, dropout};
pub use loss::{CrossEntropy, cross_entropy};
pub use norm::{group_norm, layer_norm};
