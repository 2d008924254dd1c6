//! Normalisations.

use burn::backend::Dispatch;
use burn::tensor::Tensor;

use crate::host::{self, HostOps};
use crate::reference;

/// Normalises the last dimension to mean 0 and variance 1, then scales and shifts it.
#[expect(clippy::cast_possible_truncation, reason = "moments are f32")]
pub fn layer_norm<const D: usize>(
    x: Tensor<D>,
    weight: Tensor<1>,
    bias: Tensor<1>,
    epsilon: f64,
) -> Tensor<D> {
    if !host::takes(&x) {
        return reference::layer_norm(x, weight, bias, epsilon);
    }
    Tensor::from_dispatch(Dispatch::host_layer_norm(
        x.into_dispatch(),
        weight.into_dispatch(),
        bias.into_dispatch(),
        epsilon as f32,
    ))
}

/// Normalises groups of channels of `(batch, channels, time)`.
#[expect(clippy::cast_possible_truncation, reason = "moments are f32")]
pub fn group_norm(
    x_bct: Tensor<3>,
    weight: Tensor<1>,
    bias: Tensor<1>,
    groups: usize,
    epsilon: f64,
) -> Tensor<3> {
    if !host::takes(&x_bct) {
        return reference::group_norm(x_bct, weight, bias, groups, epsilon);
    }
    Tensor::from_dispatch(Dispatch::host_group_norm(
        x_bct.into_dispatch(),
        weight.into_dispatch(),
        bias.into_dispatch(),
        groups,
        epsilon as f32,
    ))
}
