//! The definitions of the operations, as compositions of the engine's.

mod activation;
mod attention;
mod conv;
mod dropout;
mod linear;
mod loss;
mod norm;
mod optimizer;

pub use activation::gelu_tanh;
pub(crate) use attention::by_head;
pub use attention::{attention, self_attention};
pub(crate) use conv::leaky;
pub use conv::{conv_transpose1d, conv1d};
pub(crate) use dropout::{draws, drop_where};
pub use dropout::{dropout, dropout_add};
pub use linear::{linear, pointwise_conv, transposed_linear};
pub use loss::cross_entropy;
pub use norm::{group_norm, layer_norm};
pub use optimizer::{adamw_step, sum_of_squares};
