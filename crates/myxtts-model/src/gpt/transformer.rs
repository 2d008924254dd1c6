//! GPT-2's stack of blocks, without its embeddings.
//!
//! Suffixes: b batch, t positions, d channels, h heads, c channels of a head.

use burn::module::Module;
use burn::tensor::Tensor;
use myxtts_ops::inference::{CachedBlock, HostTensor};
use myxtts_ops::{AttentionMask, Compute, dropout, dropout_add, gelu_tanh, self_attention};

use super::dropout::{Site, StepDropout};
use crate::init::Init;
use crate::layers::{NormParams, TransposedLinear};

pub(crate) const EPSILON: f64 = 1e-5;

/// Standard deviation of new weights.
const STD: f64 = 0.02;

/// The blocks and the norm after them.
#[derive(Module, Debug)]
pub struct Transformer {
    /// The blocks, in order.
    pub(super) h: Vec<Block>,
    /// The norm after the last block.
    pub(crate) ln_f: NormParams,
}

impl Transformer {
    pub(super) fn new(init: &Init, layers: usize, channels: usize, heads: usize) -> Self {
        // Every block adds to the residual twice.
        let output_std = STD / ((2 * layers) as f64).sqrt();
        Self {
            h: (0..layers)
                .map(|_| Block::new(init, channels, heads, output_std))
                .collect(),
            ln_f: NormParams::new(init, channels),
        }
    }

    /// Runs all positions at once.
    pub(super) fn forward(
        &self,
        x_btd: Tensor<3>,
        mask: &AttentionMask,
        drop: Option<&StepDropout>,
        compute: Compute,
    ) -> Tensor<3> {
        let x_btd = drop_embeddings(x_btd, drop);
        let blocks = self.h.iter().enumerate();
        let x_btd = blocks.fold(x_btd, |x_btd, (layer, block)| {
            block.forward(x_btd, mask, drop, layer, compute)
        });
        self.ln_f.layer_norm(x_btd, EPSILON)
    }

    /// Runs the next positions of sequences. `attend` computes what they see of earlier
    /// positions; it is given the layer, its queries, keys and values, and their scale.
    pub(crate) fn attending(
        &self,
        x_btd: Tensor<3>,
        compute: Compute,
        mut attend: impl FnMut(usize, [Tensor<4>; 3], f64) -> Tensor<4>,
    ) -> Tensor<3> {
        let blocks = self.h.iter().enumerate();
        let x_btd = blocks.fold(x_btd, |x_btd, (layer, block)| {
            let normal_btd = block.ln_1.layer_norm(x_btd.clone(), EPSILON);
            let heads = block.attn.heads(normal_btd, compute);
            let mixed_btd = merge(attend(layer, heads, block.attn.scale()));
            block.finish(x_btd, mixed_btd, None, 0, compute)
        });
        self.ln_f.layer_norm(x_btd, EPSILON)
    }

    /// Takes the blocks out of the model, in the form the CPU speaks with. A block's tensors are
    /// dropped before the next is made, so that the weights are in memory once. `None` on other
    /// devices, where all blocks stay.
    pub(crate) fn take_cached_blocks(&mut self) -> Option<Vec<CachedBlock>> {
        if !self.h.iter().all(Block::is_on_host) {
            return None;
        }
        let blocks = std::mem::take(&mut self.h).into_iter();
        blocks.map(|block| block.cached()).collect()
    }
}

/// Attention and a feed-forward part, each normalised first.
#[derive(Module, Debug)]
pub(crate) struct Block {
    /// The norm before attention.
    ln_1: NormParams,
    /// The attention over all earlier positions.
    pub(crate) attn: SelfAttention,
    /// The norm before the feed-forward part.
    ln_2: NormParams,
    /// The feed-forward part, four times as wide inside.
    mlp: Mlp,
}

impl Block {
    fn new(init: &Init, channels: usize, heads: usize, output_std: f64) -> Self {
        Self {
            ln_1: NormParams::new(init, channels),
            attn: SelfAttention {
                c_attn: TransposedLinear::new(init, channels, 3 * channels, STD),
                c_proj: TransposedLinear::new(init, channels, channels, output_std),
                heads,
            },
            ln_2: NormParams::new(init, channels),
            mlp: Mlp {
                c_fc: TransposedLinear::new(init, channels, 4 * channels, STD),
                c_proj: TransposedLinear::new(init, 4 * channels, channels, output_std),
            },
        }
    }

    pub(super) fn forward(
        &self,
        x_btd: Tensor<3>,
        mask: &AttentionMask,
        drop: Option<&StepDropout>,
        layer: usize,
        compute: Compute,
    ) -> Tensor<3> {
        let normal_btd = self.ln_1.layer_norm(x_btd.clone(), EPSILON);
        let weights = drop.map(|drop| drop.at(Site::AttentionWeights(layer)));
        let mixed_btd = self_attention(
            self.attn.c_attn.forward_in(normal_btd, compute),
            self.attn.heads,
            mask,
            self.attn.scale(),
            weights.as_ref(),
        );
        self.finish(x_btd, mixed_btd, drop, layer, compute)
    }

    /// Returns the layers that adapters are for, by their names in the block.
    pub(super) fn projections(&mut self) -> [(&'static str, &mut TransposedLinear); 4] {
        let Self { attn, mlp, .. } = self;
        [
            ("attn.c_attn", &mut attn.c_attn),
            ("attn.c_proj", &mut attn.c_proj),
            ("mlp.c_fc", &mut mlp.c_fc),
            ("mlp.c_proj", &mut mlp.c_proj),
        ]
    }

    /// Whether [`cached`](Self::cached) can take the block.
    fn is_on_host(&self) -> bool {
        let norm = |norm: &NormParams| {
            HostTensor::takes(&norm.weight.val()) && HostTensor::takes(&norm.bias.val())
        };
        let linear = |layer: &TransposedLinear| {
            HostTensor::takes(&layer.weight.val()) && HostTensor::takes(&layer.bias.val())
        };
        let Self {
            ln_1,
            attn,
            ln_2,
            mlp,
        } = self;
        [ln_1, ln_2].into_iter().all(norm)
            && [&attn.c_attn, &attn.c_proj, &mlp.c_fc, &mlp.c_proj]
                .into_iter()
                .all(linear)
    }

    #[expect(clippy::cast_possible_truncation, reason = "a constant")]
    fn cached(&self) -> Option<CachedBlock> {
        let norm = |norm: &NormParams| [norm.weight.val(), norm.bias.val()];
        let linear = |layer: &TransposedLinear| (layer.merged_weight(), layer.bias.val());
        CachedBlock::new(
            [norm(&self.ln_1), norm(&self.ln_2)],
            [
                linear(&self.attn.c_attn),
                linear(&self.attn.c_proj),
                linear(&self.mlp.c_fc),
                linear(&self.mlp.c_proj),
            ],
            self.attn.heads,
            EPSILON as f32,
        )
    }

    /// Computes everything in the block after its attention.
    fn finish(
        &self,
        x_btd: Tensor<3>,
        mixed_btd: Tensor<3>,
        drop: Option<&StepDropout>,
        layer: usize,
        compute: Compute,
    ) -> Tensor<3> {
        let at = |site| drop.map(|drop| drop.at(site));
        let attended_btd = self.attn.c_proj.forward_in(mixed_btd, compute);
        let place = at(Site::AttentionOutput(layer));
        let x_btd = dropout_add(attended_btd, x_btd, place.as_ref());
        let normal_btd = self.ln_2.layer_norm(x_btd.clone(), EPSILON);
        let fed_btd = self.mlp.forward(normal_btd, compute);
        dropout_add(fed_btd, x_btd, at(Site::FeedForward(layer)).as_ref())
    }
}

/// Attention of a sequence to itself.
#[derive(Module, Debug)]
pub(crate) struct SelfAttention {
    /// Projects to queries, keys and values.
    c_attn: TransposedLinear,
    /// Projects the merged heads back to channels.
    c_proj: TransposedLinear,
    #[module(skip)]
    heads: usize,
}

impl SelfAttention {
    /// Returns queries, keys and values as `(batch, heads, positions, channels)`.
    fn heads(&self, x_btd: Tensor<3>, compute: Compute) -> [Tensor<4>; 3] {
        let [batch, length, channels] = x_btd.dims();
        let qkv = self.c_attn.forward_in(x_btd, compute);
        [0, 1, 2].map(|part| {
            qkv.clone()
                .narrow(2, part * channels, channels)
                .reshape([batch, length, self.heads, channels / self.heads])
                .swap_dims(1, 2)
        })
    }

    /// Whether it learns through adapters.
    pub(super) fn has_adapter(&self) -> bool {
        self.c_attn.adapter.is_some()
    }

    fn scale(&self) -> f64 {
        let [channels, _] = self.c_proj.weight.dims();
        1.0 / ((channels / self.heads) as f64).sqrt()
    }
}

/// Puts the heads' outputs side by side.
fn merge(mixed_bhtc: Tensor<4>) -> Tensor<3> {
    let [batch, heads, length, per_head] = mixed_bhtc.dims();
    mixed_bhtc
        .swap_dims(1, 2)
        .reshape([batch, length, heads * per_head])
}

/// Two linear layers with GELU between them.
#[derive(Module, Debug)]
pub(crate) struct Mlp {
    /// Projects to four times the channels.
    c_fc: TransposedLinear,
    /// Projects back to the channels.
    c_proj: TransposedLinear,
}

impl Mlp {
    fn forward(&self, x_btd: Tensor<3>, compute: Compute) -> Tensor<3> {
        let wide_btf = gelu_tanh(self.c_fc.forward_in(x_btd, compute));
        self.c_proj.forward_in(wide_btf, compute)
    }
}

/// Drops from what the first block reads.
pub(super) fn drop_embeddings(x_btd: Tensor<3>, drop: Option<&StepDropout>) -> Tensor<3> {
    match drop {
        Some(drop) => dropout(x_btd, &drop.at(Site::Embeddings)),
        None => x_btd,
    }
}
