//! Cross entropy that keeps the scores of classes and no second tensor of their shape.
//!
//! Suffixes: n rows, v classes.

use burn::backend::tensor::FloatTensor;
use burn::tensor::activation::softmax;
use burn::tensor::{IndexingUpdateOp, Int, Tensor};

use super::{Ordinary, Rule};
use crate::{CrossEntropy, reference};

/// What cross entropy compares with.
#[derive(Clone, Debug)]
pub(crate) struct CrossEntropyRule {
    /// The class of every row, negative where none counts; on the device without autodiff.
    pub(crate) targets_n: Tensor<1, Int>,
    pub(crate) options: CrossEntropy,
}

impl Rule<1> for CrossEntropyRule {
    fn forward<B: Ordinary>(&self, [logits]: [FloatTensor<B>; 1]) -> FloatTensor<B> {
        let targets_n = self.targets_n.clone();
        B::lower(reference::cross_entropy(
            B::lift(logits),
            targets_n,
            self.options,
        ))
    }

    /// The gradient of a row is what the scores claim, less what is true.
    fn backward<B: Ordinary>(
        &self,
        [logits]: [FloatTensor<B>; 1],
        gradient: FloatTensor<B>,
    ) -> [FloatTensor<B>; 1] {
        let logits_nv: Tensor<2> = B::lift(logits);
        let [rows, classes] = logits_nv.dims();
        let targets_n1 = self.targets_n.clone().reshape([rows, 1]);
        let counted_n1 = targets_n1.clone().greater_equal_elem(0).float();
        let smooth = self.options.label_smoothing;
        let hits_n1 = counted_n1.zeros_like() - (1.0 - smooth);
        let claimed_nv = match smooth > 0.0 {
            true => softmax(logits_nv, 1) - smooth / classes as f64,
            false => softmax(logits_nv, 1),
        };
        let off_nv = claimed_nv.scatter(1, targets_n1.clamp_min(0), hits_n1, IndexingUpdateOp::Add);
        let gradient: Tensor<1> = B::lift(gradient);
        let weight_n1 = counted_n1.clone() / counted_n1.sum().clamp_min(1.0).reshape([1, 1]);
        [B::lower(off_nv * weight_n1 * gradient.reshape([1, 1]))]
    }
}
