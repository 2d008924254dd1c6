//! Activations.

use burn::backend::Dispatch;
use burn::tensor::Tensor;

use crate::host::{self, HostOps};
use crate::reference;

/// GELU in its tanh approximation, as in GPT-2.
pub fn gelu_tanh<const D: usize>(x: Tensor<D>) -> Tensor<D> {
    if !host::takes(&x) {
        return reference::gelu_tanh(x);
    }
    Tensor::from_dispatch(Dispatch::host_gelu(x.into_dispatch()))
}

/// GELU with the error function.
pub fn gelu_erf<const D: usize>(x: Tensor<D>) -> Tensor<D> {
    burn::tensor::activation::gelu(x)
}
