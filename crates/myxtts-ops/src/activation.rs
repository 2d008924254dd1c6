//! Activations.

use burn::backend::Dispatch;
use burn::tensor::Tensor;

use crate::host::{self, HostOps};
use crate::plain;

/// GELU by its tanh approximation, as GPT-2 has it.
pub fn gelu_tanh<const D: usize>(x: Tensor<D>) -> Tensor<D> {
    if !host::takes(&x) {
        return plain::gelu_tanh(x);
    }
    Tensor::from_dispatch(Dispatch::host_gelu(x.into_dispatch()))
}

/// GELU by the error function.
pub fn gelu_erf<const D: usize>(x: Tensor<D>) -> Tensor<D> {
    burn::tensor::activation::gelu(x)
}
