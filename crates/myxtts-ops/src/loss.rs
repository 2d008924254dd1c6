//! Losses.

use burn::backend::Dispatch;
use burn::tensor::{Int, Tensor};

use crate::host::{self, HostOps};
use crate::recomputed::{CrossEntropyRule, RecomputedOps};

/// The options of [`cross_entropy`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CrossEntropy {
    /// The share of the target that is spread evenly over all classes.
    pub label_smoothing: f64,
}

/// Computes the mean cross entropy over the rows whose target is not negative; 0 if there are
/// none.
#[expect(clippy::cast_possible_truncation, reason = "the loss is f32")]
pub fn cross_entropy(
    logits_nv: Tensor<2>,
    targets_n: Tensor<1, Int>,
    options: CrossEntropy,
) -> Tensor<1> {
    if !host::takes(&logits_nv) {
        return recomputed_cross_entropy(logits_nv, targets_n, options);
    }
    let targets = targets_n.into_data().iter::<i64>().collect();
    Tensor::from_dispatch(Dispatch::host_cross_entropy(
        logits_nv.into_dispatch(),
        targets,
        options.label_smoothing as f32,
    ))
}

/// Computes [`cross_entropy`] on any device, and keeps nothing but the logits for the backward
/// pass.
pub fn recomputed_cross_entropy(
    logits_nv: Tensor<2>,
    targets_n: Tensor<1, Int>,
    options: CrossEntropy,
) -> Tensor<1> {
    let rule = CrossEntropyRule {
        targets_n: targets_n.inner(),
        options,
    };
    Tensor::from_dispatch(Dispatch::recomputed_cross_entropy(
        logits_nv.into_dispatch(),
        rule,
    ))
}
