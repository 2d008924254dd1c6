//! Linear layers.

use burn::tensor::Tensor;

/// Defines [`crate::linear`] by the engine's operations.
pub fn linear<const D: usize>(
    x: Tensor<D>,
    weight_oi: Tensor<2>,
    bias_o: Option<Tensor<1>>,
) -> Tensor<D> {
    transposed_linear(x, weight_oi.transpose(), bias_o)
}

/// Defines [`crate::transposed_linear`] by the engine's operations.
pub fn transposed_linear<const D: usize>(
    x: Tensor<D>,
    weight_io: Tensor<2>,
    bias_o: Option<Tensor<1>>,
) -> Tensor<D> {
    let mut shape = x.dims();
    let [inputs, outputs] = weight_io.dims();
    let rows = shape.iter().take(D - 1).product::<usize>();
    let mut y_no = x.reshape([rows, inputs]).matmul(weight_io);
    if let Some(bias_o) = bias_o {
        y_no = y_no + bias_o.unsqueeze();
    }
    shape[D - 1] = outputs;
    y_no.reshape(shape)
}

/// Defines [`crate::pointwise_conv`] by the engine's operations.
pub fn pointwise_conv(
    x_bit: Tensor<3>,
    weight_oi1: Tensor<3>,
    bias_o: Option<Tensor<1>>,
) -> Tensor<3> {
    // Computed as a product: the convolution's weight gradient was 4 % off on a software GPU.
    let weight_oi = weight_oi1.squeeze_dim::<2>(2);
    linear(x_bit.swap_dims(1, 2), weight_oi, bias_o).swap_dims(1, 2)
}
