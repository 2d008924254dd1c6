//! From the mel of a voice to the vectors the GPT starts from.
//!
//! Legend of shape suffixes here: b batch, c channels, s mel frames, n
//! latents, h heads.

mod encoder;
mod perceiver;

pub use encoder::{AttentionBlock, ConditioningEncoder, norm_groups};
pub(crate) use perceiver::feed_forward_channels;
pub use perceiver::{
    FeedForward, PerceiverAttention, PerceiverConfig, PerceiverLayer, PerceiverResampler, RmsNorm,
};
