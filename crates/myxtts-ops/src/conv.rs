//! Convolutions over time, with the leaky rectifier that stands before them.
//!
//! On the CPU every one of them becomes a convolution with a step of 1: a longer step by treating
//! the samples between two steps as channels, a transposed one by treating its phases as
//! channels.

use burn::backend::Dispatch;
use burn::tensor::Tensor;

use crate::host::{self, HostOps};
use crate::kernel::conv_batch::ConvRule;
use crate::linear::or_none;
use crate::reference;

/// How a convolution moves over time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Conv {
    /// Frames between two outputs.
    pub stride: usize,
    /// Zeros added at each end.
    pub padding: usize,
    /// Frames between two taps.
    pub dilation: usize,
    /// Groups of channels that do not see each other.
    pub groups: usize,
    /// The factor that negative inputs are multiplied with first; `None` leaves them.
    pub slope: Option<f64>,
}

/// How a transposed convolution moves over time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConvTransposed {
    /// Outputs made of each input.
    pub stride: usize,
    /// Outputs that are cut off at each end.
    pub padding: usize,
    /// The factor that negative inputs are multiplied with first; `None` leaves them.
    pub slope: Option<f64>,
}

/// Splits a rectifier from the convolution behind it. On the CPU the convolution does both, so
/// the slope is returned; elsewhere the rectifier is applied here.
///
/// A caller that computes its weight must do so after this. With the weight first, the engine
/// fuses both into one kernel, and gradients are wrong on a GPU (`parity_hifigan` on software
/// devices shows it).
pub fn rectified(x_bit: Tensor<3>, slope: Option<f64>) -> (Tensor<3>, Option<f64>) {
    match host::takes(&x_bit) {
        true => (x_bit, slope),
        false => (reference::leaky(x_bit, slope), None),
    }
}

/// Convolves `(batch, in, time)` with a weight `(out, in / groups, taps)`.
pub fn conv1d(
    x_bit: Tensor<3>,
    weight_oik: Tensor<3>,
    bias_o: Option<Tensor<1>>,
    conv: Conv,
) -> Tensor<3> {
    let is_ours = host::takes(&x_bit) && conv.stride > 0;
    match (is_ours, conv.stride) {
        (true, 1) => convolved(x_bit, weight_oik, bias_o, conv),
        (true, _) if conv.dilation == 1 => strided(x_bit, weight_oik, bias_o, conv),
        _ => reference::conv1d(x_bit, weight_oik, bias_o, conv),
    }
}

/// Convolves `(batch, in, time)` with a weight `(in, out, taps)`, transposed.
pub fn conv_transpose1d(
    x_bit: Tensor<3>,
    weight_iok: Tensor<3>,
    bias_o: Option<Tensor<1>>,
    conv: ConvTransposed,
) -> Tensor<3> {
    if !host::takes(&x_bit) || conv.stride == 0 {
        return reference::conv_transpose1d(x_bit, weight_iok, bias_o, conv);
    }
    let ([inputs, outputs, kernel], stride) = (weight_iok.dims(), conv.stride);
    let taps = kernel.div_ceil(stride);
    let [batch, _, time] = x_bit.dims();
    let weight_iok = lengthened(weight_iok, taps * stride);
    // An output hears the inputs before it, the nearest through its first taps.
    let weight_ospik = weight_iok
        .reshape([inputs, outputs, taps, stride])
        .flip([2])
        .permute([1, 3, 0, 2]);
    let weight = weight_ospik.reshape([outputs * stride, inputs, taps]);
    let phases = Conv {
        stride: 1,
        padding: taps - 1,
        dilation: 1,
        groups: 1,
        slope: conv.slope,
    };
    let y_bst = convolved(x_bit, weight, None, phases);
    let columns = time + taps - 1;
    let y_bot = y_bst
        .reshape([batch, outputs, stride, columns])
        .swap_dims(2, 3)
        .reshape([batch, outputs, columns * stride]);
    // There is no output if the padding takes away all columns.
    let length = (time * stride + kernel).saturating_sub(stride + 2 * conv.padding);
    if length == 0 {
        return Tensor::zeros([batch, outputs, 0], &y_bot.device());
    }
    let y_bot = y_bot.narrow(2, conv.padding, length);
    match bias_o {
        Some(bias_o) => y_bot + bias_o.reshape([1, outputs, 1]),
        None => y_bot,
    }
}

/// Convolves with a step of 1.
fn convolved(
    x_bit: Tensor<3>,
    weight_oik: Tensor<3>,
    bias_o: Option<Tensor<1>>,
    conv: Conv,
) -> Tensor<3> {
    let bias = or_none(bias_o, &x_bit);
    #[expect(clippy::cast_possible_truncation, reason = "a slope")]
    let slope = conv.slope.map_or(1.0, |slope| slope as f32);
    let rule = ConvRule {
        padding: conv.padding,
        dilation: conv.dilation,
        slope,
    };
    Tensor::from_dispatch(Dispatch::host_convolve(
        x_bit.into_dispatch(),
        weight_oik.into_dispatch(),
        bias.into_dispatch(),
        rule,
    ))
}

/// Convolves with a longer step, by treating the samples of a step as channels.
fn strided(
    x_bit: Tensor<3>,
    weight_oik: Tensor<3>,
    bias_o: Option<Tensor<1>>,
    conv: Conv,
) -> Tensor<3> {
    let ([outputs, group_inputs, kernel], stride) = (weight_oik.dims(), conv.stride);
    let [batch, inputs, time] = x_bit.dims();
    let heard = (time + 2 * conv.padding).saturating_sub(kernel) / stride + 1;
    let taps = kernel.div_ceil(stride);
    let weight_oips =
        lengthened(weight_oik, taps * stride).reshape([outputs, group_inputs, taps, stride]);
    let weight = weight_oips
        .swap_dims(2, 3)
        .reshape([outputs, group_inputs * stride, taps]);
    let wanted = (heard + taps - 1) * stride;
    let x_bit = between_zeros(x_bit, conv.padding, wanted);
    let x_bist = x_bit.reshape([batch, inputs, heard + taps - 1, stride]);
    let x = x_bist
        .swap_dims(2, 3)
        .reshape([batch, inputs * stride, heard + taps - 1]);
    let plain = Conv {
        stride: 1,
        padding: 0,
        ..conv
    };
    convolved(x, weight, bias_o, plain)
}

/// Returns the first `length` columns of `before` zeros, `x_bit` and zeros without end.
pub(crate) fn between_zeros(x_bit: Tensor<3>, before: usize, length: usize) -> Tensor<3> {
    let [batch, inputs, time] = x_bit.dims();
    let device = x_bit.device();
    let zeros = |width: usize| Tensor::<3>::zeros([batch, inputs, width], &device);
    let behind = length.saturating_sub(before + time);
    let mut parts = vec![x_bit];
    if before > 0 {
        parts.insert(0, zeros(before));
    }
    if behind > 0 {
        parts.push(zeros(behind));
    }
    Tensor::cat(parts, 2).narrow(2, 0, length)
}

/// Appends taps of zero to a weight.
fn lengthened(weight: Tensor<3>, taps: usize) -> Tensor<3> {
    let [first, second, own] = weight.dims();
    if own == taps {
        return weight;
    }
    let zeros = Tensor::zeros([first, second, taps - own], &weight.device());
    Tensor::cat(vec![weight, zeros], 2)
}
