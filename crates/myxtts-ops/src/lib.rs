//! Operations in which training spends its time, behind one signature each.
//!
//! Each is defined by a composition of the engine's operations in [`reference`], which is what GPUs
//! run and what the tests compare with. On the CPU backend it is one pass of our own over memory,
//! with its own backward pass, on all cores, and with the same result whatever their number.

mod activation;
mod attention;
mod compute;
mod conv;
mod dropout;
mod host;
pub mod inference;
mod kernel;
mod linear;
mod loss;
mod norm;
mod optimizer;
mod packed;
mod pools;
mod recomputed;
pub mod reference;

pub use activation::{gelu_erf, gelu_tanh};
pub use attention::{AttentionMask, attention, chunked_attention, self_attention};
pub use compute::Compute;
pub use conv::{Conv, ConvTransposed, conv_transpose1d, conv1d, rectified};
pub use dropout::{Dropout, dropout, dropout_add};
pub use linear::{linear, pointwise_conv, transposed_linear};
pub use loss::{CrossEntropy, cross_entropy, recomputed_cross_entropy};
pub use norm::{group_norm, layer_norm};
pub use optimizer::{AdamW, Moments, Undecided, adamw_step, adamw_step_if, sum_of_squares};
pub use packed::{Curve, Packed, Rounding};
pub use pools::{each_on_compute_pool, is_cpu, on_compute_pool, on_side_pool};
