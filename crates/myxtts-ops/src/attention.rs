//! Scaled dot-product attention.

use burn::backend::Dispatch;
use burn::tensor::{Bool, Tensor};

use crate::host::{self, HostOps};
use crate::kernel::attention::{HIDDEN, Rule, Shape};
use crate::recomputed::{AttentionRule, RecomputedOps};
use crate::{Dropout, reference};

/// Which keys a query may see.
#[derive(Clone, Debug, Default)]
pub struct AttentionMask {
    /// Whether a query sees only keys at or before itself. With more keys than queries, the
    /// queries are the last positions.
    pub causal: bool,
    /// True for keys that count, `(batch, keys)`.
    pub keys_bk: Option<Tensor<2, Bool>>,
}

/// Computes `softmax(scale q k^T) v` over `(batch, heads, length, channels)`.
///
/// A query that sees no key gets 0.
pub fn attention(
    q_bhqc: Tensor<4>,
    k_bhkc: Tensor<4>,
    v_bhkc: Tensor<4>,
    mask: &AttentionMask,
    scale: f64,
    drop: Option<&Dropout>,
) -> Tensor<4> {
    let [batch, heads, queries, channels] = q_bhqc.dims();
    let keys = k_bhkc.dims()[2];
    let whole = k_bhkc.dims() == [batch, heads, keys, channels] && k_bhkc.dims() == v_bhkc.dims();
    if !whole {
        return reference::attention(q_bhqc, k_bhkc, v_bhkc, mask, scale, drop);
    }
    if !host::takes(&q_bhqc) {
        return chunked_attention([q_bhqc, k_bhkc, v_bhkc], mask, scale, drop, SCORES);
    }
    let shape = Shape {
        batch,
        heads,
        queries,
        keys,
        channels,
    };
    Tensor::from_dispatch(Dispatch::host_attention(
        q_bhqc.into_dispatch(),
        k_bhkc.into_dispatch(),
        v_bhkc.into_dispatch(),
        rule(shape, mask, scale, drop),
    ))
}

/// Computes the [`attention`] of a sequence to itself: queries, keys and values lie side by side
/// in `(batch, length, 3 * heads * channels)`, and so do the heads' outputs in
/// `(batch, length, heads * channels)`.
pub fn self_attention(
    qkv_bld: Tensor<3>,
    heads: usize,
    mask: &AttentionMask,
    scale: f64,
    drop: Option<&Dropout>,
) -> Tensor<3> {
    if !host::takes(&qkv_bld) {
        return reference::by_head(qkv_bld, heads, |qkv_bhlc| {
            chunked_attention(qkv_bhlc, mask, scale, drop, SCORES)
        });
    }
    let [batch, length, width] = qkv_bld.dims();
    let shape = Shape {
        batch,
        heads,
        queries: length,
        keys: length,
        channels: width / (3 * heads),
    };
    let rule = rule(shape, mask, scale, drop);
    Tensor::from_dispatch(Dispatch::host_attention_merged(
        qkv_bld.into_dispatch(),
        rule,
    ))
}

/// Scores that are in memory at once on a GPU, for each tensor of them: 32 MB.
const SCORES: usize = 8 << 20;

/// Computes [`attention`] of queries, keys and values a chunk of queries at a time, on any device,
/// and keeps no scores for the backward pass. `scores` bounds how many a chunk has.
pub fn chunked_attention(
    [q_bhqc, k_bhkc, v_bhkc]: [Tensor<4>; 3],
    mask: &AttentionMask,
    scale: f64,
    drop: Option<&Dropout>,
    scores: usize,
) -> Tensor<4> {
    let rule = AttentionRule {
        mask: AttentionMask {
            causal: mask.causal,
            keys_bk: mask.keys_bk.clone().map(Tensor::inner),
        },
        scale,
        drop: drop.copied(),
        scores,
    };
    Tensor::from_dispatch(Dispatch::recomputed_attention(
        q_bhqc.into_dispatch(),
        k_bhkc.into_dispatch(),
        v_bhkc.into_dispatch(),
        rule,
    ))
}

#[expect(clippy::cast_possible_truncation, reason = "scores are f32")]
fn rule(shape: Shape, mask: &AttentionMask, scale: f64, drop: Option<&Dropout>) -> Rule {
    let hidden_bk = mask.keys_bk.as_ref().and_then(|keys_bk| {
        let counts: Vec<bool> = keys_bk.clone().into_data().iter().collect();
        let hidden = |counts: bool| if counts { 0.0 } else { HIDDEN };
        // Full batches are common, and this saves them a pass.
        let some = counts.contains(&false);
        some.then(|| counts.into_iter().map(hidden).collect())
    });
    // The draws are those of a tensor of weights, although there is none.
    let weights = [shape.batch, shape.heads, shape.queries, shape.keys];
    Rule {
        shape,
        causal: mask.causal,
        hidden_bk,
        scale: scale as f32,
        keep: drop.and_then(|drop| drop.keep(&weights)),
    }
}
