//! Dropout by integer operations on the device: no random numbers cross the bus.

use burn::tensor::{DType, Int, Tensor};

use crate::Dropout;
use crate::kernel::dropout::{DRAW_BITS, FIRST, LAST, SECOND, STRIDE};

/// See [`crate::dropout`].
pub fn dropout<const D: usize>(x: Tensor<D>, drop: &Dropout) -> Tensor<D> {
    let Some(keep) = drop.keep() else { return x };
    let shape = x.shape();
    let count = shape.num_elements() as i64;
    let index = Tensor::<1, Int>::arange(0..count, (&x.device(), DType::U32));
    let fold = |x: Tensor<1, Int>, bits: u32| {
        let high = x.clone().bitwise_right_shift_scalar(bits);
        x.bitwise_xor(high)
    };
    let mixed = fold(index * STRIDE + keep.halves[0], FIRST.0) * FIRST.1;
    let mixed = (fold(mixed, SECOND.0) + keep.halves[1]) * SECOND.1;
    let draw = fold(mixed, LAST).bitwise_right_shift_scalar(32 - DRAW_BITS);
    let dropped = draw.lower_scalar(keep.threshold).reshape(shape);
    (x * keep.scale).mask_fill(dropped, 0.0)
}

/// See [`crate::dropout_add`].
pub fn dropout_add<const D: usize>(
    x: Tensor<D>,
    residual: Tensor<D>,
    drop: Option<&Dropout>,
) -> Tensor<D> {
    match drop {
        None => residual + x,
        Some(drop) => residual + dropout(x, drop),
    }
}
