//! Activations.

use burn::tensor::Tensor;

/// Defines [`crate::gelu_tanh`] by the engine's operations.
pub fn gelu_tanh<const D: usize>(x: Tensor<D>) -> Tensor<D> {
    let inner =
        (x.clone() + x.clone().powi_scalar(3) * 0.044_715) * (2.0 / std::f64::consts::PI).sqrt();
    x * 0.5 * (inner.tanh() + 1.0)
}
