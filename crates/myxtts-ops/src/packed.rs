//! Numbers in eight bits, for what an optimizer keeps.
//!
//! A block of numbers shares one scale, its largest magnitude. Within a block a number is kept as a
//! root, because moments span many orders of magnitude and a root gives small ones as many digits as
//! large ones: the square root of a mean of gradients with its sign, the fourth root of a mean of
//! squares. Four codes lie in one 32-bit integer, which every device has.
//!
//! A moment changes by less than one code in a step, so rounding to the nearest code would leave it
//! where it is for ever. Codes are therefore drawn: up with the probability that the rest asks for,
//! as a function of a key. A number that was a code before is exactly that code again when it is
//! rounded to the nearest one, so what is saved as f32 and packed again is the same.
//!
//! Suffixes: n numbers, g blocks, e numbers of a block.

use burn::tensor::{Bool, DType, Int, Tensor};

use crate::kernel::dropout::Keep;
use crate::reference::draws;

/// Codes in an integer.
const PER_WORD: usize = 4;
/// Bits of a code.
const BITS: i32 = 8;

/// Which numbers are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Curve {
    /// Numbers of both signs, by their square root.
    Signed,
    /// Numbers that are not negative, by their fourth root.
    Positive,
}

/// How a number between two codes is rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// To the nearer code.
    Nearest,
    /// Up or down, by a draw from this key.
    Drawn(u64),
}

/// Numbers in eight bits, on a device.
#[derive(Clone, Debug)]
pub struct Packed {
    words_w: Tensor<1, Int>,
    scales_g1: Tensor<2>,
    count: usize,
    curve: Curve,
}

impl Curve {
    /// Maps `-1..=1` or `0..=1` to codes `0..=255`, with fractions.
    fn codes<const D: usize>(self, unit: Tensor<D>) -> Tensor<D> {
        match self {
            Self::Signed => unit.clone().sign() * unit.abs().sqrt() * 127.0 + 128.0,
            Self::Positive => unit.sqrt().sqrt() * 255.0,
        }
    }

    fn units<const D: usize>(self, codes: Tensor<D>) -> Tensor<D> {
        match self {
            Self::Signed => {
                let root = (codes - 128.0) / 127.0;
                root.clone() * root.abs()
            }
            Self::Positive => (codes / 255.0).square().square(),
        }
    }
}

/// Numbers that share a scale.
const BLOCK: usize = Packed::BLOCK;

impl Packed {
    /// How many numbers share a scale.
    pub const BLOCK: usize = 256;

    /// Packs numbers.
    pub fn pack(x_n: Tensor<1>, curve: Curve, rounding: Rounding) -> Self {
        let [count] = x_n.dims();
        let blocks = count.div_ceil(BLOCK).max(1);
        let device = x_n.device();
        let x_ge = match blocks * BLOCK - count {
            0 => x_n,
            rest => Tensor::cat(vec![x_n, Tensor::zeros([rest], &device)], 0),
        }
        .reshape([blocks, BLOCK]);
        let scales_g1 = x_ge.clone().abs().max_dim(1);
        // A block of zeros has no scale to divide by, and none is needed.
        let codes_ge = curve.codes(x_ge.clone() / scales_g1.clone().clamp_min(f32::MIN_POSITIVE));
        let codes_ge = match rounding {
            Rounding::Nearest => codes_ge.round(),
            Rounding::Drawn(key) => {
                let up_ge = draws([blocks, BLOCK], Keep::new(0.0, key), &device);
                (codes_ge + up_ge).floor()
            }
        };
        // A mean of squares that is not zero must not become zero: a step divides by its root.
        let codes_ge = match curve {
            Curve::Signed => codes_ge.clamp(1.0, 255.0),
            Curve::Positive => {
                let least_ge = x_ge.greater_elem(0.0).float();
                codes_ge.clamp(0.0, 255.0).max_pair(least_ge)
            }
        };
        Self {
            words_w: words(codes_ge.reshape([blocks * BLOCK / PER_WORD, PER_WORD])),
            scales_g1,
            count,
            curve,
        }
    }

    /// Returns the numbers.
    pub fn unpack(&self) -> Tensor<1> {
        let [words] = self.words_w.dims();
        let parts = (0..PER_WORD).map(|place| {
            let shifted = match place {
                0 => self.words_w.clone(),
                place => self
                    .words_w
                    .clone()
                    .bitwise_right_shift_scalar(shift(place)),
            };
            shifted.bitwise_and_scalar(0xff).reshape([words, 1])
        });
        let codes = Tensor::cat(parts.collect(), 1).float();
        let [blocks, _] = self.scales_g1.dims();
        let units_ge = self.curve.units(codes.reshape([blocks, BLOCK]));
        (units_ge * self.scales_g1.clone())
            .reshape([blocks * BLOCK])
            .narrow(0, 0, self.count)
    }

    /// Returns these numbers if the device says so, and otherwise those `before`, code for code.
    #[must_use]
    pub fn only_if(self, applies_1: &Tensor<1, Bool>, before: Self) -> Self {
        let applies_11 = applies_1.clone().reshape([1, 1]);
        Self {
            words_w: before.words_w.mask_where(applies_1.clone(), self.words_w),
            scales_g1: before.scales_g1.mask_where(applies_11, self.scales_g1),
            ..self
        }
    }

    /// Counts the numbers.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are no numbers.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

fn shift(place: usize) -> i32 {
    i32::try_from(place).unwrap_or(0) * BITS
}

/// Puts four codes side by side into an integer.
fn words(codes_wp: Tensor<2>) -> Tensor<1, Int> {
    let [words, _] = codes_wp.dims();
    let codes_wp = codes_wp.int().cast(DType::I32);
    let place = |place: usize| {
        let codes_w = codes_wp.clone().narrow(1, place, 1).reshape([words]);
        match place {
            0 => codes_w,
            place => codes_w.bitwise_left_shift_scalar(shift(place)),
        }
    };
    (1..PER_WORD).fold(place(0), |sum_w, next| sum_w.bitwise_or(place(next)))
}
