//! From the mel of a voice to the vectors the GPT starts from.
//!
//! Legend of shape suffixes here: b batch, c channels, s mel frames, n
//! latents, h heads.

mod encoder;
mod perceiver;

pub use encoder::ConditioningEncoder;
pub(crate) use perceiver::feed_forward_channels;
pub use perceiver::{PerceiverConfig, PerceiverLayer, PerceiverResampler, RmsNorm};
