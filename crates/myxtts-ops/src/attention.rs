//! Scaled dot-product attention.

use burn::tensor::activation::softmax;
use burn::tensor::{Bool, Tensor};

use crate::{Dropout, dropout};

/// Which keys a query sees.
#[derive(Clone, Debug, Default)]
pub struct AttentionMask {
    /// Only keys at or before the query. With more keys than queries, the
    /// queries are the last positions.
    pub causal: bool,
    /// True where a key counts, `(batch, keys)`.
    pub keys_bk: Option<Tensor<2, Bool>>,
}

/// `softmax(scale q k^T) v` over `(batch, heads, length, channels)`.
///
/// A query that sees no key gets the mean over the keys, a finite number that
/// nothing should read.
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
    let mut scores_bhqk = (q_bhqc * scale).matmul(k_bhkc.swap_dims(2, 3));
    // Finite, so that a row without a key is no NaN.
    let hidden = f64::from(f32::MIN) / 2.0;
    if mask.causal {
        let future_qk =
            Tensor::<2, Bool>::tril_mask([queries, keys], keys as i64 - queries as i64, &device);
        scores_bhqk = scores_bhqk.mask_fill(future_qk.unsqueeze(), hidden);
    }
    if let Some(keys_bk) = &mask.keys_bk {
        let hidden_b11k = keys_bk.clone().bool_not().reshape([batch, 1, 1, keys]);
        scores_bhqk = scores_bhqk.mask_fill(hidden_b11k, hidden);
    }
    let mut weights_bhqk = softmax(scores_bhqk, 3);
    if let Some(drop) = drop {
        weights_bhqk = dropout(weights_bhqk, drop);
    }
    weights_bhqk.matmul(v_bhkc)
}
