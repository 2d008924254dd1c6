//! Decides which elements are dropped, as a pure function of a key and the element's index.
//!
//! It uses 32-bit multiplications only, so that it runs eight or more at a time on a CPU and
//! unchanged on a GPU.

use myxtts_base::splitmix64;

/// The bits of a draw, few enough for a signed 32-bit integer.
pub(crate) const DRAW_BITS: u32 = 24;
/// The multipliers and shifts of the mixing, in their order.
pub(crate) const STRIDE: u32 = 0x9e37_79b1;
pub(crate) const FIRST: (u32, u32) = (16, 0x21f0_aaad);
pub(crate) const SECOND: (u32, u32) = (15, 0x735a_2d97);
pub(crate) const LAST: u32 = 15;

/// The parameters of a draw, mixed and rounded once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Keep {
    /// The two halves of the mixed key.
    pub(crate) halves: [u32; 2],
    /// Elements whose draws are below this are dropped.
    pub(crate) threshold: u32,
    /// The factor for the elements that are kept.
    pub(crate) scale: f32,
}

impl Keep {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "halves of a word; a probability below 1 in 24 bits"
    )]
    pub(crate) fn new(probability: f64, key: u64) -> Self {
        // Neighbouring keys have nothing in common after it.
        let z = splitmix64(key);
        let probability = probability.clamp(0.0, 1.0);
        Self {
            halves: [z as u32, (z >> 32) as u32],
            threshold: (probability * f64::from(1_u32 << DRAW_BITS)).round() as u32,
            scale: if probability < 1.0 {
                (1.0 / (1.0 - probability)) as f32
            } else {
                0.0
            },
        }
    }

    /// Returns the draw of what comes after `elements` elements.
    pub(crate) fn after(mut self, elements: usize) -> Self {
        let skipped = index(elements).wrapping_mul(STRIDE);
        self.halves[0] = self.halves[0].wrapping_add(skipped);
        self
    }

    /// Returns the factor of element `index`.
    #[inline(always)]
    pub(crate) fn factor(self, index: u32) -> f32 {
        let mut x = index.wrapping_mul(STRIDE).wrapping_add(self.halves[0]);
        x = (x ^ (x >> FIRST.0)).wrapping_mul(FIRST.1);
        x = (x ^ (x >> SECOND.0)).wrapping_add(self.halves[1]);
        x = x.wrapping_mul(SECOND.1);
        x ^= x >> LAST;
        if (x >> (32 - DRAW_BITS)) < self.threshold {
            0.0
        } else {
            self.scale
        }
    }
}

/// Draws that are made at a time.
const LANES: usize = 16;
const NEXT: u32 = 16;
const OFFSETS: [u32; LANES] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

impl Keep {
    #[inline(always)]
    fn factors(self, start: u32) -> [f32; LANES] {
        // This is a loop because the array's own `map` is not inlined, and so not vectorised.
        let mut factors = [0.0; LANES];
        for (factor, i) in factors.iter_mut().zip(OFFSETS) {
            *factor = self.factor(start.wrapping_add(i));
        }
        factors
    }

    /// Multiplies elements `start..` of a tensor by their factors.
    #[inline(always)]
    pub(crate) fn multiply(self, mut start: u32, x: &mut [f32]) {
        let (blocks, rest) = x.as_chunks_mut::<LANES>();
        for block in blocks {
            for (x, factor) in block.iter_mut().zip(self.factors(start)) {
                *x *= factor;
            }
            start = start.wrapping_add(NEXT);
        }
        for (x, factor) in rest.iter_mut().zip(self.factors(start)) {
            *x *= factor;
        }
    }

    /// Multiplies elements `start..` of a tensor by their factors, and adds `y`.
    #[inline(always)]
    pub(crate) fn multiply_add(self, mut start: u32, x: &mut [f32], y: &[f32]) {
        let (x_blocks, x_rest) = x.as_chunks_mut::<LANES>();
        let (y_blocks, y_rest) = y.as_chunks::<LANES>();
        for (x, y) in x_blocks.iter_mut().zip(y_blocks) {
            for ((x, y), factor) in x.iter_mut().zip(y).zip(self.factors(start)) {
                *x = *x * factor + y;
            }
            start = start.wrapping_add(NEXT);
        }
        for ((x, y), factor) in x_rest.iter_mut().zip(y_rest).zip(self.factors(start)) {
            *x = *x * factor + y;
        }
    }

    /// Sets `(a, b) = f(a, b, factor)` for elements `start..`.
    #[inline(always)]
    pub(crate) fn update2(
        self,
        mut start: u32,
        a: &mut [f32],
        b: &mut [f32],
        f: impl Fn(f32, f32, f32) -> (f32, f32),
    ) {
        let (a_blocks, a_rest) = a.as_chunks_mut::<LANES>();
        let (b_blocks, b_rest) = b.as_chunks_mut::<LANES>();
        for (a, b) in a_blocks.iter_mut().zip(b_blocks) {
            for ((a, b), factor) in a.iter_mut().zip(b).zip(self.factors(start)) {
                (*a, *b) = f(*a, *b, factor);
            }
            start = start.wrapping_add(NEXT);
        }
        for ((a, b), factor) in a_rest.iter_mut().zip(b_rest).zip(self.factors(start)) {
            (*a, *b) = f(*a, *b, factor);
        }
    }
}

/// Converts an element's offset to the index of its draw; draws repeat after 2^32.
#[expect(clippy::cast_possible_truncation, reason = "wraps, as documented")]
#[inline(always)]
pub(crate) fn index(offset: usize) -> u32 {
    offset as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dropped(keep: Keep, indices: impl Iterator<Item = u32>) -> usize {
        indices.filter(|&i| keep.factor(i) == 0.0).count()
    }

    #[test]
    fn the_share_dropped_is_the_probability() {
        for key in 0..20 {
            for probability in [0.02, 0.1, 0.5, 0.9] {
                let keep = Keep::new(probability, key);
                let n = 200_000_u32;
                let share = dropped(keep, 0..n) as f64 / f64::from(n);
                let deviation = (probability * (1.0 - probability) / f64::from(n)).sqrt();
                assert!(
                    (share - probability).abs() < 5.0 * deviation,
                    "{key} {probability} {share}"
                );
                // Also along a stride as rows and heads have it.
                let share = dropped(keep, (0..n).map(|i| i * 512)) as f64 / f64::from(n);
                assert!(
                    (share - probability).abs() < 5.0 * deviation,
                    "{key} {probability} {share}"
                );
            }
        }
    }

    #[test]
    fn neighbours_and_keys_are_independent() {
        let n = 200_000_u32;
        let (a, b) = (Keep::new(0.5, 1), Keep::new(0.5, 2));
        let pairs =
            |f: &dyn Fn(u32) -> bool| (0..n).filter(|&i| f(i)).count() as f64 / f64::from(n);
        let of_keys = pairs(&|i| (a.factor(i) == 0.0) == (b.factor(i) == 0.0));
        let of_neighbours = pairs(&|i| (a.factor(i) == 0.0) == (a.factor(i + 1) == 0.0));
        for share in [of_keys, of_neighbours] {
            assert!((share - 0.5).abs() < 0.006, "{share}");
        }
    }

    #[test]
    fn nothing_and_everything() {
        assert_eq!(dropped(Keep::new(0.0, 3), 0..1000), 0);
        assert_eq!(dropped(Keep::new(1.0, 3), 0..1000), 1000);
    }
}
