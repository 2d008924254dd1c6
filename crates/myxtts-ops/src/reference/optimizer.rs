//! The arithmetic of the optimizer.

use burn::tensor::Tensor;

use crate::{AdamW, Moments};

/// Defines [`crate::adamw_step`] by the engine's operations.
pub fn adamw_step<const D: usize>(
    parameter: Tensor<D>,
    gradient: Tensor<D>,
    moments: Moments<D>,
    with: &AdamW,
) -> (Tensor<D>, Moments<D>) {
    let [beta1, beta2] = with.betas;
    let [correction1, correction2] = with.corrections();
    let gradient = gradient * with.gradient_scale;
    let first = moments.first * beta1 + gradient.clone() * (1.0 - beta1);
    let second = moments.second * beta2 + gradient.square() * (1.0 - beta2);
    let step = first.clone() * (with.learning_rate / correction1)
        / ((second.clone() / correction2).sqrt() + with.epsilon);
    let parameter = parameter * (1.0 - with.learning_rate * with.weight_decay) - step;
    (parameter, Moments { first, second })
}

/// Defines [`crate::sum_of_squares`] by the engine's operations.
pub fn sum_of_squares<const D: usize>(x: Tensor<D>) -> Tensor<1> {
    x.square().sum()
}
