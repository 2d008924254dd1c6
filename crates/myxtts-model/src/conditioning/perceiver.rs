//! The resampler: any number of frames to a fixed number of latents.

use burn::module::{Module, Param};
use burn::tensor::Tensor;
use myxtts_ops::{AttentionMask, Compute, attention, gelu_erf};
use serde::{Deserialize, Serialize};

use crate::init::Init;
use crate::layers::Linear;

/// Sizes of the resampler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PerceiverConfig {
    /// Latents that it returns for a voice.
    pub latents: usize,
    /// The number of layers.
    pub depth: usize,
    /// Attention heads; independent of the model's own number.
    pub heads: usize,
    /// Channels of a head.
    pub head_channels: usize,
}

impl PerceiverConfig {
    /// The sizes of the public model.
    pub const XTTS_V2: Self = Self {
        latents: 32,
        depth: 2,
        heads: 8,
        head_channels: 64,
    };

    pub(crate) fn inner(&self) -> usize {
        self.heads * self.head_channels
    }
}

/// Returns the channels inside the feed-forward part.
pub(crate) fn feed_forward_channels(channels: usize) -> usize {
    channels * 8 / 3
}

/// Learned queries that read the frames of a voice.
#[derive(Module, Debug)]
pub struct PerceiverResampler {
    /// The queries, `(latents, channels)`.
    pub latents: Param<Tensor<2>>,
    /// The layers, in order.
    pub layers: Vec<PerceiverLayer>,
    /// The norm after the last layer.
    pub norm: RmsNorm,
}

impl PerceiverResampler {
    /// Makes a new resampler.
    pub fn new(init: &Init, channels: usize, config: &PerceiverConfig) -> Self {
        Self {
            latents: init.normal([config.latents, channels], 0.02),
            layers: (0..config.depth)
                .map(|_| PerceiverLayer {
                    _0: PerceiverAttention::new(init, channels, config),
                    _1: FeedForward::new(init, channels),
                })
                .collect(),
            norm: RmsNorm {
                gamma: init.constant([channels], 1.0),
            },
        }
    }

    /// Turns `(batch, frames, channels)` into `(batch, latents, channels)`.
    pub(crate) fn forward(&self, frames_bsc: Tensor<3>, compute: Compute) -> Tensor<3> {
        let [batch, _, channels] = frames_bsc.dims();
        let [latents, _] = self.latents.dims();
        let start_bnc = self
            .latents
            .val()
            .reshape([1, latents, channels])
            .expand([batch, latents, channels]);
        let read_bnc = self.layers.iter().fold(start_bnc, |x_bnc, layer| {
            let x_bnc = x_bnc.clone() + layer._0.forward(x_bnc, frames_bsc.clone(), compute);
            x_bnc.clone() + layer._1.forward(x_bnc, compute)
        });
        self.norm.forward(read_bnc)
    }
}

/// Attention to the frames, then a feed-forward part; neither is normalised.
#[derive(Module, Debug)]
pub struct PerceiverLayer {
    /// The attention to the frames.
    pub(crate) _0: PerceiverAttention,
    /// The feed-forward part after it.
    pub(crate) _1: FeedForward,
}

/// Attention by which latents read the frames and themselves.
#[derive(Module, Debug)]
pub(crate) struct PerceiverAttention {
    /// Projects latents to queries.
    to_q: Linear,
    /// Projects to keys, then values.
    to_kv: Linear,
    /// Projects the mixed heads back to channels.
    to_out: Linear,
    #[module(skip)]
    heads: usize,
}

impl PerceiverAttention {
    fn new(init: &Init, channels: usize, config: &PerceiverConfig) -> Self {
        let inner = config.inner();
        Self {
            to_q: Linear::new(init, channels, inner, false),
            to_kv: Linear::new(init, channels, 2 * inner, false),
            to_out: Linear::new(init, inner, channels, false),
            heads: config.heads,
        }
    }

    fn forward(&self, x_bnc: Tensor<3>, frames_bsc: Tensor<3>, compute: Compute) -> Tensor<3> {
        let context_bsc = Tensor::cat(vec![x_bnc.clone(), frames_bsc], 1);
        let q_bni = self.to_q.forward_in(x_bnc, compute);
        let kv_bsi = self.to_kv.forward_in(context_bsc, compute);
        let [batch, latents, inner] = q_bni.dims();
        let per_head = inner / self.heads;
        let split = |x: Tensor<3>| {
            let [batch, length, _] = x.dims();
            x.reshape([batch, length, self.heads, per_head])
                .swap_dims(1, 2)
        };
        let mixed_bhnc = attention(
            split(q_bni),
            split(kv_bsi.clone().narrow(2, 0, inner)),
            split(kv_bsi.narrow(2, inner, inner)),
            &AttentionMask::default(),
            1.0 / (per_head as f64).sqrt(),
            None,
        );
        let mixed_bni = mixed_bhnc.swap_dims(1, 2).reshape([batch, latents, inner]);
        self.to_out.forward_in(mixed_bni, compute)
    }
}

/// Two linear layers with a gate: one half times the GELU of the other.
#[derive(Module, Debug)]
pub(crate) struct FeedForward {
    /// Projects to the value and its gate.
    pub(crate) _0: Linear,
    /// Projects back to channels.
    pub(crate) _2: Linear,
}

impl FeedForward {
    fn new(init: &Init, channels: usize) -> Self {
        let hidden = feed_forward_channels(channels);
        Self {
            _0: Linear::new(init, channels, 2 * hidden, true),
            _2: Linear::new(init, hidden, channels, true),
        }
    }

    fn forward(&self, x_bnc: Tensor<3>, compute: Compute) -> Tensor<3> {
        let both = self._0.forward_in(x_bnc, compute);
        let [_, _, double] = both.dims();
        let hidden = double / 2;
        let value = both.clone().narrow(2, 0, hidden);
        let gate = both.narrow(2, hidden, hidden);
        self._2.forward_in(value * gelu_erf(gate), compute)
    }
}

/// A norm that scales a vector to the length `sqrt(channels)`, then by `gamma`.
///
/// It is a type of its own because its scale is decayed like a weight, while those of other norms
/// are not.
#[derive(Module, Debug)]
pub struct RmsNorm {
    /// The scale of each channel.
    pub gamma: Param<Tensor<1>>,
}

impl RmsNorm {
    fn forward(&self, x_bnc: Tensor<3>) -> Tensor<3> {
        let [_, _, channels] = x_bnc.dims();
        let length_bn1 = x_bnc.clone().square().sum_dim(2).sqrt().clamp_min(1e-12);
        x_bnc / length_bn1 * (channels as f64).sqrt() * self.gamma.val().unsqueeze()
    }
}
