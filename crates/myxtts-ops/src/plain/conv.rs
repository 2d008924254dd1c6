//! Convolutions over time.

use burn::tensor::Tensor;
use burn::tensor::activation::leaky_relu;
use burn::tensor::module::{conv_transpose1d as transposed, conv1d as convolved};
use burn::tensor::ops::{ConvOptions, ConvTransposeOptions};

use crate::conv::{Conv, ConvTransposed};

/// See [`crate::conv1d`].
pub fn conv1d(
    x_bit: Tensor<3>,
    weight_oik: Tensor<3>,
    bias_o: Option<Tensor<1>>,
    conv: Conv,
) -> Tensor<3> {
    let options = ConvOptions::new(
        [conv.stride],
        [conv.padding],
        [conv.dilation],
        conv.groups.max(1),
    );
    convolved(leaky(x_bit, conv.slope), weight_oik, bias_o, options)
}

/// See [`crate::conv_transpose1d`].
pub fn conv_transpose1d(
    x_bit: Tensor<3>,
    weight_iok: Tensor<3>,
    bias_o: Option<Tensor<1>>,
    conv: ConvTransposed,
) -> Tensor<3> {
    let options = ConvTransposeOptions::new([conv.stride], [conv.padding], [0], [1], 1);
    transposed(leaky(x_bit, conv.slope), weight_iok, bias_o, options)
}

/// What a leaky rectifier lets through.
pub(crate) fn leaky(x_bit: Tensor<3>, slope: Option<f64>) -> Tensor<3> {
    match slope {
        Some(slope) => leaky_relu(x_bit, slope),
        None => x_bit,
    }
}
