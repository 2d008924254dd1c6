//! Losses.

use burn::tensor::activation::log_softmax;
use burn::tensor::{Int, Tensor};

use crate::CrossEntropy;

/// Defines [`crate::cross_entropy`] by the engine's operations.
pub fn cross_entropy(
    logits_nv: Tensor<2>,
    targets_n: Tensor<1, Int>,
    options: CrossEntropy,
) -> Tensor<1> {
    let [rows, _] = logits_nv.dims();
    let counted_n1 = targets_n
        .clone()
        .greater_equal_elem(0)
        .float()
        .reshape([rows, 1]);
    let index_n1 = targets_n.clamp_min(0).reshape([rows, 1]);
    let log_nv = log_softmax(logits_nv, 1);
    let hit_n1 = log_nv.clone().gather(1, index_n1).neg();
    let smooth = options.label_smoothing;
    let loss_n1 = if smooth > 0.0 {
        hit_n1 * (1.0 - smooth) - log_nv.mean_dim(1) * smooth
    } else {
        hit_n1
    };
    (loss_n1 * counted_n1.clone()).sum() / counted_n1.sum().clamp_min(1.0)
}
