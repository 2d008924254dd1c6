//! Normalisations.

use burn::tensor::Tensor;

/// Defines [`crate::layer_norm`] by the engine's operations.
pub fn layer_norm<const D: usize>(
    x: Tensor<D>,
    weight: Tensor<1>,
    bias: Tensor<1>,
    epsilon: f64,
) -> Tensor<D> {
    let centred = x.clone() - x.mean_dim(D - 1);
    let variance = centred.clone().square().mean_dim(D - 1);
    centred / (variance + epsilon).sqrt() * weight.unsqueeze() + bias.unsqueeze()
}

/// Defines [`crate::group_norm`] by the engine's operations.
pub fn group_norm(
    x_bct: Tensor<3>,
    weight: Tensor<1>,
    bias: Tensor<1>,
    groups: usize,
    epsilon: f64,
) -> Tensor<3> {
    let [batch, channels, time] = x_bct.dims();
    let x_bgn = x_bct.reshape([batch, groups, channels / groups * time]);
    let centred = x_bgn.clone() - x_bgn.mean_dim(2);
    let variance = centred.clone().square().mean_dim(2);
    let normal_bct = (centred / (variance + epsilon).sqrt()).reshape([batch, channels, time]);
    normal_bct * weight.reshape([1, channels, 1]) + bias.reshape([1, channels, 1])
}
