//! Dropout by integer operations on the device: no random numbers cross the bus.

use burn::tensor::{DType, Device, Int, Tensor};

use crate::Dropout;
use crate::kernel::dropout::{DRAW_BITS, FIRST, Keep, LAST, SECOND, STRIDE};

/// Defines [`crate::dropout`] by the engine's operations.
pub fn dropout<const D: usize>(x: Tensor<D>, drop: &Dropout) -> Tensor<D> {
    let Some(keep) = drop.keep(&x.dims()) else {
        return x;
    };
    let count = x.shape().num_elements() as i64;
    // Signed integers are what every device has; sums and products wrap to the same bits.
    let index = Tensor::<1, Int>::arange(0..count, (&x.device(), DType::I32));
    drop_where(x, index, keep)
}

/// Drops from a tensor whose elements have these places in the tensor that is drawn for.
pub(crate) fn drop_where<const D: usize>(
    x: Tensor<D>,
    index: Tensor<1, Int>,
    keep: Keep,
) -> Tensor<D> {
    let dropped = draw(index, keep).lower_scalar(keep.threshold.cast_signed());
    let shape = x.shape();
    (x * keep.scale).mask_fill(dropped.reshape(shape), 0.0)
}

/// Draws numbers between 0 and 1, without 1.
pub(crate) fn draws<const D: usize>(sizes: [usize; D], keep: Keep, device: &Device) -> Tensor<D> {
    let count: usize = sizes.iter().product();
    let index = Tensor::<1, Int>::arange(0..count as i64, (device, DType::I32));
    let drawn = draw(index, keep).float() / f64::from(1_u32 << DRAW_BITS);
    drawn.reshape(sizes)
}

/// Draws an integer of [`DRAW_BITS`] bits for each index.
fn draw(index: Tensor<1, Int>, keep: Keep) -> Tensor<1, Int> {
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
    shifted(mixed, 32 - DRAW_BITS)
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
