//! Dropout as a pure function of a key, so that a resumed run drops the same.

use burn::tensor::{Tensor, TensorData};

/// What to drop: each element on its own, with this probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dropout {
    /// Share of elements that become 0; the rest is scaled by `1 / (1 - p)`.
    pub probability: f64,
    /// Names the draw: the same key drops the same elements.
    pub key: u64,
}

/// Drops elements.
pub fn dropout<const D: usize>(x: Tensor<D>, drop: &Dropout) -> Tensor<D> {
    if drop.probability <= 0.0 {
        return x;
    }
    let shape = x.shape();
    let kept = (1.0 / (1.0 - drop.probability)) as f32;
    let values: Vec<f32> = (0..shape.num_elements() as u64)
        .map(|index| {
            if uniform(drop.key, index) < drop.probability {
                0.0
            } else {
                kept
            }
        })
        .collect();
    let mask = Tensor::<D>::from_data(TensorData::new(values, shape), &x.device());
    x * mask
}

/// The draw of one element, in `[0, 1)`: SplitMix64 of its index from the key.
fn uniform(key: u64, index: u64) -> f64 {
    let mut z = key.wrapping_add((index + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^= z >> 31;
    (z >> 40) as f64 / (1_u64 << 24) as f64
}
