//! Activations.

use burn::tensor::Tensor;
use burn::tensor::activation;

/// GELU by its tanh approximation, as GPT-2 has it.
pub fn gelu_tanh<const D: usize>(x: Tensor<D>) -> Tensor<D> {
    let inner =
        (x.clone() + x.clone().powi_scalar(3) * 0.044_715) * (2.0 / std::f64::consts::PI).sqrt();
    x * 0.5 * (inner.tanh() + 1.0)
}

/// GELU by the error function.
pub fn gelu_erf<const D: usize>(x: Tensor<D>) -> Tensor<D> {
    activation::gelu(x)
}
