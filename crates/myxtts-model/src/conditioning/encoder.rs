//! Attention over mel frames, without positions and without a padding mask.

use burn::module::Module;
use burn::tensor::Tensor;
use myxtts_ops::{AttentionMask, Compute, attention, group_norm};

use crate::init::Init;
use crate::layers::{NormParams, PointwiseConv};

const EPSILON: f64 = 1e-5;

/// Projects mel frames to channels, then runs blocks of attention over them.
#[derive(Module, Debug)]
pub struct ConditioningEncoder {
    /// Projects bands to channels.
    pub init: PointwiseConv,
    /// The attention blocks, in order.
    pub(crate) attn: Vec<AttentionBlock>,
}

impl ConditioningEncoder {
    /// Makes a new encoder.
    pub fn new(init: &Init, bands: usize, channels: usize, heads: usize, blocks: usize) -> Self {
        Self {
            init: PointwiseConv::new(init, bands, channels),
            attn: (0..blocks)
                .map(|_| AttentionBlock::new(init, channels, heads))
                .collect(),
        }
    }

    /// Turns `(batch, bands, frames)` into `(batch, channels, frames)`.
    pub fn forward(&self, mel_bms: Tensor<3>, compute: Compute) -> Tensor<3> {
        let x_bcs = self.init.forward_in(mel_bms, compute);
        self.attn
            .iter()
            .fold(x_bcs, |x_bcs, block| block.forward(x_bcs, compute))
    }
}

/// One block: a group norm, attention, and the sum of the two.
#[derive(Module, Debug)]
pub(crate) struct AttentionBlock {
    /// Scale and shift of the group norm.
    pub(crate) norm: NormParams,
    /// Projects to queries, keys and values; those of one head stand together.
    pub(crate) qkv: PointwiseConv,
    /// Projects back to channels. It starts at zero, so that a new block passes its input on.
    proj_out: PointwiseConv,
    #[module(skip)]
    heads: usize,
}

impl AttentionBlock {
    fn new(init: &Init, channels: usize, heads: usize) -> Self {
        let mut proj_out = PointwiseConv::new(init, channels, channels);
        proj_out.weight = init.constant([channels, channels, 1], 0.0);
        proj_out.bias = init.constant([channels], 0.0);
        Self {
            norm: NormParams::new(init, channels),
            qkv: PointwiseConv::new(init, channels, 3 * channels),
            proj_out,
            heads,
        }
    }

    /// Runs the block. The residual branch starts from the *normalised* input, as in the public
    /// model.
    fn forward(&self, x_bcs: Tensor<3>, compute: Compute) -> Tensor<3> {
        let [batch, channels, frames] = x_bcs.dims();
        let per_head = channels / self.heads;
        let normal_bcs = group_norm(
            x_bcs,
            self.norm.weight.val(),
            self.norm.bias.val(),
            norm_groups(channels),
            EPSILON,
        );
        let qkv_bhcs = self.qkv.forward_in(normal_bcs.clone(), compute).reshape([
            batch,
            self.heads,
            3 * per_head,
            frames,
        ]);
        let part = |index: usize| {
            qkv_bhcs
                .clone()
                .narrow(2, index * per_head, per_head)
                .swap_dims(2, 3)
        };
        let scale = 1.0 / (per_head as f64).sqrt();
        let mixed_bhsc = attention(
            part(0),
            part(1),
            part(2),
            &AttentionMask::default(),
            scale,
            None,
        );
        let mixed_bcs = mixed_bhsc
            .swap_dims(2, 3)
            .reshape([batch, channels, frames]);
        normal_bcs + self.proj_out.forward_in(mixed_bcs, compute)
    }
}

/// Returns the groups of the norm over this many channels.
fn norm_groups(channels: usize) -> usize {
    let mut groups = match channels {
        0..=16 => 8,
        17..=64 => 16,
        _ => 32,
    };
    while !channels.is_multiple_of(groups) {
        groups /= 2;
    }
    groups
}
