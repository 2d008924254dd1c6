//! Dropout by integer operations on the device: no random numbers cross the bus.

use burn::tensor::{DType, Int, Tensor};

use crate::Dropout;
use crate::kernel::dropout::{DRAW_BITS, FIRST, LAST, SECOND, STRIDE};

/// Defines [`crate::dropout`] by the engine's operations.
pub fn dropout<const D: usize>(x: Tensor<D>, drop: &Dropout) -> Tensor<D> {
    let Some(keep) = drop.keep(&x.dims()) else {
        return x;
    };
    let shape = x.shape();
    let count = shape.num_elements() as i64;
    // Signed integers are what every device has; sums and products wrap to the same bits.
    let index = Tensor::<1, Int>::arange(0..count, (&x.device(), DType::I32));
    let shifted = |x: Tensor<1, Int>, bits: u32| {
        let low = (u32::MAX >> bits).cast_signed();
        x.bitwise_right_shift_scalar(bits.cast_signed())
            .bitwise_and_scalar(low)
    };
    let fold = |x: Tensor<1, Int>, bits: u32| x.clone().bitwise_xor(shifted(x, bits));
    let times = |x: Tensor<1, Int>, by: u32| x * by.cast_signed();
    let plus = |x: Tensor<1, Int>, by: u32| x + by.cast_signed();
    let mixed = fold(plus(times(index, STRIDE), keep.halves[0]), FIRST.0);
    let mixed = fold(times(mixed, FIRST.1), SECOND.0);
    let mixed = fold(times(plus(mixed, keep.halves[1]), SECOND.1), LAST);
    let draw = shifted(mixed, 32 - DRAW_BITS);
    let dropped = draw
        .lower_scalar(keep.threshold.cast_signed())
        .reshape(shape);
    (x * keep.scale).mask_fill(dropped, 0.0)
}

/// Defines [`crate::dropout_add`] by the engine's operations.
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
