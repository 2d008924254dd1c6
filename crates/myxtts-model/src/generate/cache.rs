//! Keys and values of the positions so far.
//!
//! A cache is longer than what it holds, in whole blocks, and a mask hides the
//! rest: a device sees a new shape once per block, not once per code.
//!
//! Suffixes: b batch, h heads, k keys, c channels of a head.

use burn::tensor::{Bool, Device, Int, Tensor};
use myxtts_ops::{AttentionMask, attention};

use crate::gpt::Gpt;

/// Positions that a cache grows by.
const BLOCK: usize = 64;

/// The cache of every layer, and how full they are.
pub(super) struct KvCache {
    layers: Vec<LayerCache>,
    length: usize,
}

/// One layer's keys and values.
pub(crate) struct LayerCache {
    kept: Option<[Tensor<4>; 2]>,
    length: usize,
}

impl KvCache {
    pub(super) fn new(gpt: &Gpt) -> Self {
        let empty = || LayerCache {
            kept: None,
            length: 0,
        };
        Self {
            layers: gpt.gpt.h.iter().map(|_| empty()).collect(),
            length: 0,
        }
    }

    /// Runs the blocks over the next positions: many at first, then one.
    pub(super) fn advance(&mut self, gpt: &Gpt, x_btd: Tensor<3>) -> Tensor<3> {
        let [batch, added, _] = x_btd.dims();
        let length = self.length + added;
        let mask = if self.length == 0 {
            AttentionMask {
                causal: true,
                keys_bk: None,
            }
        } else {
            AttentionMask {
                causal: false,
                keys_bk: Some(held(batch, length, &x_btd.device())),
            }
        };
        let layers = std::mem::take(&mut self.layers);
        let (hidden_btd, layers) = gpt.gpt.cached(x_btd, layers, &mask, gpt.compute());
        self.layers = layers;
        self.length = length;
        hidden_btd
    }
}

impl LayerCache {
    /// Attention of the next positions to all so far, which are then kept.
    pub(crate) fn attend(
        self,
        [q, k, v]: [Tensor<4>; 3],
        mask: &AttentionMask,
        scale: f64,
    ) -> (Tensor<4>, Self) {
        let [_, _, added, _] = k.dims();
        let length = self.length + added;
        match self.kept {
            // Nothing before: the new positions see only each other.
            None => {
                let kept = [&k, &v].map(|new| put(blank(new, length), 0, new.clone()));
                let mixed = attention(q, k, v, mask, scale, None);
                let kept = Some(kept);
                (mixed, Self { kept, length })
            }
            Some([keys, values]) => {
                let keys = put(grown(keys, length), self.length, k);
                let values = put(grown(values, length), self.length, v);
                let mixed = attention(q, keys.clone(), values.clone(), mask, scale, None);
                let kept = Some([keys, values]);
                (mixed, Self { kept, length })
            }
        }
    }
}

/// True for the positions a cache of this length holds.
fn held(batch: usize, length: usize, device: &Device) -> Tensor<2, Bool> {
    let capacity = length.next_multiple_of(BLOCK);
    Tensor::<1, Int>::arange(0..capacity as i64, device)
        .lower_elem(length as i64)
        .reshape([1, capacity])
        .expand([batch, capacity])
}

/// An empty cache for tensors like this one.
fn blank(like_bhkc: &Tensor<4>, length: usize) -> Tensor<4> {
    let [batch, heads, _, channels] = like_bhkc.dims();
    let capacity = length.next_multiple_of(BLOCK);
    Tensor::zeros([batch, heads, capacity, channels], &like_bhkc.device())
}

fn grown(cache_bhkc: Tensor<4>, length: usize) -> Tensor<4> {
    let [_, _, capacity, _] = cache_bhkc.dims();
    if length <= capacity {
        return cache_bhkc;
    }
    let more_bhkc = blank(&cache_bhkc, length - capacity);
    Tensor::cat(vec![cache_bhkc, more_bhkc], 2)
}

fn put(cache_bhkc: Tensor<4>, at: usize, new_bhkc: Tensor<4>) -> Tensor<4> {
    let [batch, heads, added, channels] = new_bhkc.dims();
    cache_bhkc.slice_assign([0..batch, 0..heads, at..at + added, 0..channels], new_bhkc)
}
