//! Linear layers.

use burn::backend::Dispatch;
use burn::tensor::Tensor;

use crate::host::{self, HostOps, WeightLayout};
use crate::reference;

/// Computes `x w^T + b` over the last dimension, with the weight as `(out, in)`.
pub fn linear<const D: usize>(
    x: Tensor<D>,
    weight_oi: Tensor<2>,
    bias_o: Option<Tensor<1>>,
) -> Tensor<D> {
    if !host::takes(&x) {
        return reference::linear(x, weight_oi, bias_o);
    }
    on_host(x, weight_oi, bias_o, WeightLayout::OutIn)
}

/// Computes `x w + b` over the last dimension, with the weight as `(in, out)`.
pub fn transposed_linear<const D: usize>(
    x: Tensor<D>,
    weight_io: Tensor<2>,
    bias_o: Option<Tensor<1>>,
) -> Tensor<D> {
    if !host::takes(&x) {
        return reference::transposed_linear(x, weight_io, bias_o);
    }
    on_host(x, weight_io, bias_o, WeightLayout::InOut)
}

fn on_host<const D: usize>(
    x: Tensor<D>,
    weight: Tensor<2>,
    bias_o: Option<Tensor<1>>,
    layout: WeightLayout,
) -> Tensor<D> {
    let bias = or_none(bias_o, &x);
    Tensor::from_dispatch(Dispatch::host_linear(
        x.into_dispatch(),
        weight.into_dispatch(),
        bias.into_dispatch(),
        layout,
    ))
}

/// Returns the bias, or an empty tensor for none: an operation's inputs cannot be optional.
pub(crate) fn or_none<const D: usize>(bias: Option<Tensor<1>>, beside: &Tensor<D>) -> Tensor<1> {
    bias.unwrap_or_else(|| Tensor::zeros([0], &beside.device()))
}

/// Applies a convolution with one tap: the weight `(out, in, 1)` over the channels of
/// `(batch, in, time)`.
pub fn pointwise_conv(
    x_bit: Tensor<3>,
    weight_oi1: Tensor<3>,
    bias_o: Option<Tensor<1>>,
) -> Tensor<3> {
    if !host::takes(&x_bit) {
        return reference::pointwise_conv(x_bit, weight_oi1, bias_o);
    }
    let bias = or_none(bias_o, &x_bit);
    Tensor::from_dispatch(Dispatch::host_pointwise(
        x_bit.into_dispatch(),
        weight_oi1.into_dispatch(),
        bias.into_dispatch(),
    ))
}
