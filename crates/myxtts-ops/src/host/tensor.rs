//! Conversions between the backend's tensors and slices.

use burn::backend::flex::FlexTensor;
use burn::tensor::{Shape, TensorData};

use crate::kernel::attention::Heads;

/// Lays rows one after the other; copies only if they are not.
pub(super) fn contiguous(x: FlexTensor) -> FlexTensor {
    let packed = x.to_contiguous();
    // `x` is dropped here, so that storage nobody else reads can be written in place.
    drop(x);
    packed
}

/// Returns the elements of a contiguous tensor.
pub(super) fn elements(x: &FlexTensor) -> &[f32] {
    x.storage()
}

/// Returns the elements of a contiguous tensor to write: its own storage if nobody else reads it.
pub(super) fn elements_mut(x: &mut FlexTensor) -> &mut [f32] {
    x.storage_mut()
}

/// Makes a tensor of these elements.
pub(super) fn tensor(elements: Vec<f32>, shape: impl Into<Shape>) -> FlexTensor {
    FlexTensor::from_data(TensorData::new(elements, shape))
}

/// Returns the sizes of all dimensions.
pub(super) fn shape(x: &FlexTensor) -> Shape {
    x.layout().shape().clone()
}

/// Returns the size of the last dimension.
pub(super) fn width(x: &FlexTensor) -> usize {
    x.layout().shape().last().copied().unwrap_or(1)
}

/// Makes strides non-negative, so that heads can be read where they lie.
pub(super) fn forward_strides(x: FlexTensor) -> FlexTensor {
    if x.layout().strides().iter().any(|&s| s < 0) {
        contiguous(x)
    } else {
        x
    }
}

/// Returns the heads of a `(batch, heads, rows, channels)` tensor without negative strides.
pub(super) fn heads(x: &FlexTensor) -> Heads<'_> {
    let stride = |dim: usize| {
        let stride = x.layout().strides().get(dim).copied().unwrap_or(0);
        usize::try_from(stride).unwrap_or(0)
    };
    Heads {
        data: x.storage(),
        start: x.layout().start_offset(),
        batch_stride: stride(0),
        head_stride: stride(1),
        row_stride: stride(2),
        column_stride: stride(3),
    }
}
