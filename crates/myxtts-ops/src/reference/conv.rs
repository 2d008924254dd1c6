//! Convolutions over time.

use burn::tensor::Tensor;
use burn::tensor::activation::leaky_relu;
use burn::tensor::module::{conv_transpose1d as transposed, conv1d as convolved};
use burn::tensor::ops::{ConvOptions, ConvTransposeOptions};

use crate::conv::{Conv, ConvTransposed, between_zeros};

/// Defines [`crate::conv1d`] by the engine's operations.
pub fn conv1d(
    x_bit: Tensor<3>,
    weight_oik: Tensor<3>,
    bias_o: Option<Tensor<1>>,
    conv: Conv,
) -> Tensor<3> {
    let (groups, padding) = (conv.groups.max(1), conv.padding);
    let (time, reach) = (
        x_bit.dims()[2],
        (weight_oik.dims()[2].max(1) - 1) * conv.dilation,
    );
    let steps = (time + 2 * padding).saturating_sub(reach + 1) / conv.stride.max(1);
    let used = steps * conv.stride + reach + 1;
    let x_bit = leaky(x_bit, conv.slope);
    // Columns that no step reaches spoil the engine's gradient of a grouped weight
    // (0.22.1): it finds more taps than the weight has and does not cut them off.
    let (x_bit, padding) = match groups > 1 && used < time + 2 * padding {
        true => (between_zeros(x_bit, padding, used), 0),
        false => (x_bit, padding),
    };
    let options = ConvOptions::new([conv.stride], [padding], [conv.dilation], groups);
    convolved(x_bit, weight_oik, bias_o, options)
}

/// Defines [`crate::conv_transpose1d`] by the engine's operations.
pub fn conv_transpose1d(
    x_bit: Tensor<3>,
    weight_iok: Tensor<3>,
    bias_o: Option<Tensor<1>>,
    conv: ConvTransposed,
) -> Tensor<3> {
    let options = ConvTransposeOptions::new([conv.stride], [conv.padding], [0], [1], 1);
    transposed(leaky(x_bit, conv.slope), weight_iok, bias_o, options)
}

/// Applies a leaky rectifier; `None` leaves the input as it is.
pub(crate) fn leaky(x_bit: Tensor<3>, slope: Option<f64>) -> Tensor<3> {
    match slope {
        Some(slope) => leaky_relu(x_bit, slope),
        None => x_bit,
    }
}
