//! The precision of matrix products.

use burn::tensor::{DType, Device, FloatDType, Tensor};

use crate::linear::{linear, pointwise_conv, transposed_linear};

/// The precision in which a model's matrix products are computed.
///
/// It concerns the products only: their inputs and weights are rounded and multiplied, and the
/// result is f32 again before a bias, a norm, a softmax or a loss sees it. Parameters stay f32,
/// and so do their gradients, because the backward pass of a rounding is a widening.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compute {
    /// Full precision: nothing is rounded.
    #[default]
    F32,
    /// The range of f32 with 8 significant bits.
    Bf16,
    /// 11 significant bits, up to 65,504: small gradients need a scaled loss.
    F16,
}

impl Compute {
    /// Whether the device can compute in this precision, as the engine reports it.
    ///
    /// Ask this before the first product: a device that cannot fails inside the engine, long
    /// after, when a result is read.
    pub fn runs_on(self, device: &Device) -> bool {
        self.half().is_none_or(|half| device.supports_dtype(half))
    }

    fn half(self) -> Option<FloatDType> {
        match self {
            Self::F32 => None,
            Self::Bf16 => Some(FloatDType::BF16),
            Self::F16 => Some(FloatDType::F16),
        }
    }

    /// Computes [`linear`] with its product in this precision.
    pub fn linear<const D: usize>(
        self,
        x: Tensor<D>,
        weight_oi: Tensor<2>,
        bias_o: Option<Tensor<1>>,
    ) -> Tensor<D> {
        let Some(half) = self.half() else {
            return linear(x, weight_oi, bias_o);
        };
        let y = linear(x.cast(half), weight_oi.cast(half), None).cast(DType::F32);
        with_bias(y, bias_o.map(Tensor::unsqueeze))
    }

    /// Computes [`transposed_linear`] with its product in this precision.
    pub fn transposed_linear<const D: usize>(
        self,
        x: Tensor<D>,
        weight_io: Tensor<2>,
        bias_o: Option<Tensor<1>>,
    ) -> Tensor<D> {
        let Some(half) = self.half() else {
            return transposed_linear(x, weight_io, bias_o);
        };
        let y = transposed_linear(x.cast(half), weight_io.cast(half), None).cast(DType::F32);
        with_bias(y, bias_o.map(Tensor::unsqueeze))
    }

    /// Computes [`pointwise_conv`] with its product in this precision.
    pub fn pointwise_conv(
        self,
        x_bit: Tensor<3>,
        weight_oi1: Tensor<3>,
        bias_o: Option<Tensor<1>>,
    ) -> Tensor<3> {
        let Some(half) = self.half() else {
            return pointwise_conv(x_bit, weight_oi1, bias_o);
        };
        let y_bot = pointwise_conv(x_bit.cast(half), weight_oi1.cast(half), None).cast(DType::F32);
        with_bias(y_bot, bias_o.map(|bias_o| bias_o.reshape([1, -1, 1])))
    }
}

fn with_bias<const D: usize>(y: Tensor<D>, bias: Option<Tensor<D>>) -> Tensor<D> {
    match bias {
        Some(bias) => y + bias,
        None => y,
    }
}
