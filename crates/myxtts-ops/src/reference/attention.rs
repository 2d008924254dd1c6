//! Scaled dot-product attention.

use burn::tensor::activation::softmax;
use burn::tensor::{Bool, Tensor};

use super::dropout;
use crate::{AttentionMask, Dropout};

/// Defines [`crate::attention`] by the engine's operations.
pub fn attention(
    q_bhqc: Tensor<4>,
    k_bhkc: Tensor<4>,
    v_bhkc: Tensor<4>,
    mask: &AttentionMask,
    scale: f64,
    drop: Option<&Dropout>,
) -> Tensor<4> {
    let [_, _, queries, _] = q_bhqc.dims();
    let [batch, _, keys, _] = k_bhkc.dims();
    let device = q_bhqc.device();
    let scores_bhqk = (q_bhqc * scale).matmul(k_bhkc.swap_dims(2, 3));
    let future_qk = mask.causal.then(|| {
        let offset = keys as i64 - queries as i64;
        Tensor::<2, Bool>::tril_mask([queries, keys], offset, &device).unsqueeze::<4>()
    });
    let missing_b11k = mask
        .keys_bk
        .clone()
        .map(|keys_bk| keys_bk.bool_not().reshape([batch, 1, 1, keys]));
    let hidden = match (future_qk, missing_b11k) {
        (Some(future), Some(missing)) => Some(
            future
                .expand([batch, 1, queries, keys])
                .bool_or(missing.expand([batch, 1, queries, keys])),
        ),
        (future, missing) => future.or(missing),
    };
    let mut weights_bhqk = match hidden {
        None => softmax(scores_bhqk, 3),
        Some(hidden) => {
            // The value is finite, so that a row without a key is not NaN; such a row becomes 0.
            let blind = hidden.clone().all_dim(3);
            let scores_bhqk = scores_bhqk.mask_fill(hidden, f64::from(f32::MIN) / 4.0);
            softmax(scores_bhqk, 3).mask_fill(blind, 0.0)
        }
    };
    if let Some(drop) = drop {
        weights_bhqk = dropout(weights_bhqk, drop);
    }
    weights_bhqk.matmul(v_bhkc)
}

/// Defines [`crate::self_attention`] by the engine's operations.
pub fn self_attention(
    qkv_bld: Tensor<3>,
    heads: usize,
    mask: &AttentionMask,
    scale: f64,
    drop: Option<&Dropout>,
) -> Tensor<3> {
    by_head(qkv_bld, heads, |[q_bhlc, k_bhlc, v_bhlc]| {
        attention(q_bhlc, k_bhlc, v_bhlc, mask, scale, drop)
    })
}

/// Takes queries, keys and values apart by heads, and puts what `attend` makes of them side by
/// side again.
pub(crate) fn by_head(
    qkv_bld: Tensor<3>,
    heads: usize,
    attend: impl FnOnce([Tensor<4>; 3]) -> Tensor<4>,
) -> Tensor<3> {
    let [batch, length, width] = qkv_bld.dims();
    let channels = width / (3 * heads);
    let part = |part: usize| {
        qkv_bld
            .clone()
            .narrow(2, part * heads * channels, heads * channels)
            .reshape([batch, length, heads, channels])
            .swap_dims(1, 2)
    };
    attend([0, 1, 2].map(part))
        .swap_dims(1, 2)
        .reshape([batch, length, heads * channels])
}
