//! Rows on any device: one cache for all, and the engine's operations.
//!
//! Attention does not depend on the order of its keys, because positions are in the embeddings.
//! So every row writes its next key and value at one common slot, and a mask per row hides what
//! is not its own: padding of its prefix, and slots that were written before it came. The cache
//! is longer than what it holds, in whole blocks: a device sees a new shape once per block of
//! codes.
//!
//! Suffixes: b rows, h heads, k slots, c channels of a head, d channels.

use burn::tensor::{Bool, Device, Int, Tensor, TensorData};
use myxtts_ops::{AttentionMask, attention};

use super::engine::Scored;
use super::error::GenerateError;
use super::speaking::SpeakingGpt;

/// Slots that a cache grows by; prefixes are padded to a multiple of `PREFIX_BLOCK`.
const BLOCK: usize = 64;
const PREFIX_BLOCK: usize = 16;

/// The keys and values of all rows.
#[derive(Debug, Default)]
pub(super) struct DeviceCache {
    /// Keys and values of each layer, `(b, h, k, c)`.
    layers: Vec<[Tensor<4>; 2]>,
    /// For each row, whether a slot is its own.
    own: Vec<Vec<bool>>,
    /// Slots that some row has written.
    used: usize,
}

impl DeviceCache {
    /// Adds a row, and returns its first scores.
    pub(super) fn begin(
        &mut self,
        gpt: &SpeakingGpt,
        prefix_1pd: Tensor<3>,
    ) -> Result<Scored, GenerateError> {
        let [_, length, channels] = prefix_1pd.dims();
        let device = prefix_1pd.device();
        let padded = length.next_multiple_of(PREFIX_BLOCK);
        let x_1pd = if padded == length {
            prefix_1pd
        } else {
            let zeros_1pd = Tensor::zeros([1, padded - length, channels], &device);
            Tensor::cat(vec![prefix_1pd, zeros_1pd], 1)
        };
        let causal = AttentionMask {
            causal: true,
            keys_bk: None,
        };
        let mut made = vec![];
        let gpt = &gpt.gpt;
        let hidden_1pd = gpt
            .gpt
            .attending(x_1pd, gpt.compute(), |_, [q, k, v], scale| {
                made.push([k.clone(), v.clone()]);
                attention(q, k, v, &causal, scale, None)
            });
        self.join(made, length, padded);
        let latent_11d = gpt.latent(hidden_1pd.narrow(1, length - 1, 1));
        let scored = scored(gpt.code_scores(latent_11d.clone()), latent_11d, 0)?;
        scored.into_iter().next().ok_or(GenerateError::Device {
            step: 0,
            why: "there are no scores".to_owned(),
        })
    }

    /// Returns the next scores of every row, given its last code and that code's position.
    pub(super) fn advance(
        &mut self,
        gpt: &SpeakingGpt,
        codes: &[(u32, usize)],
    ) -> Result<Vec<Scored>, GenerateError> {
        let gpt = &gpt.gpt;
        let device = gpt.mel_embedding.weight.device();
        let slot = self.used;
        self.used += 1;
        for own in &mut self.own {
            own.push(true);
        }
        self.grow();
        let column = |of: &dyn Fn(&(u32, usize)) -> i64| {
            let ids: Vec<i64> = codes.iter().map(of).collect();
            Tensor::<2, Int>::from_data(TensorData::new(ids, [codes.len(), 1]), &device)
        };
        let x_b1d = gpt
            .mel_embedding
            .forward(column(&|&(code, _)| i64::from(code)))
            + gpt
                .mel_pos_embedding
                .emb
                .forward(column(&|&(_, position)| position as i64));
        let mask = AttentionMask {
            causal: false,
            keys_bk: Some(self.mask(&device)),
        };
        let mut layers = std::mem::take(&mut self.layers).into_iter();
        let mut kept = Vec::with_capacity(layers.len());
        let hidden_b1d = gpt
            .gpt
            .attending(x_b1d, gpt.compute(), |_, [q, k, v], scale| {
                let Some([keys, values]) = layers.next() else {
                    return q;
                };
                let (keys, values) = (put(keys, slot, k), put(values, slot, v));
                // The clone is dropped before the next code, so the cache can be written in
                // place.
                kept.push([keys.clone(), values.clone()]);
                attention(q, keys, values, &mask, scale, None)
            });
        self.layers = kept;
        let latents_b1d = gpt.latent(hidden_b1d);
        let step = codes.iter().map(|(_, position)| *position).max();
        scored(
            gpt.code_scores(latents_b1d.clone()),
            latents_b1d,
            step.unwrap_or(0),
        )
    }

    /// Keeps these rows, in this order; one may come twice.
    pub(super) fn keep(&mut self, rows: &[usize]) {
        if rows.is_empty() {
            *self = Self::default();
            return;
        }
        self.own = rows
            .iter()
            .filter_map(|&row| self.own.get(row).cloned())
            .collect();
        let index: Vec<i64> = rows.iter().map(|&row| row as i64).collect();
        for pair in &mut self.layers {
            let device = pair[0].device();
            let index = Tensor::<1, Int>::from_data(index.as_slice(), &device);
            *pair = pair.clone().map(|cache| cache.select(0, index.clone()));
        }
        self.pack();
    }

    /// Adds a row whose prefix fills the first slots.
    fn join(&mut self, made: Vec<[Tensor<4>; 2]>, length: usize, padded: usize) {
        self.used = self.used.max(padded);
        let mut own = vec![false; self.used];
        own[..length].fill(true);
        for other in &mut self.own {
            other.resize(self.used, false);
        }
        self.own.push(own);
        let capacity = self.used.next_multiple_of(BLOCK);
        if self.layers.is_empty() {
            self.layers = made
                .into_iter()
                .map(|pair| pair.map(|new| widened(new, capacity)))
                .collect();
            return;
        }
        self.grow();
        for (pair, new) in self.layers.iter_mut().zip(made) {
            let [keys, values] = pair.clone();
            let [key, value] = new.map(|new| widened(new, keys.dims()[2]));
            *pair = [
                Tensor::cat(vec![keys, key], 0),
                Tensor::cat(vec![values, value], 0),
            ];
        }
    }

    fn grow(&mut self) {
        let capacity = self.used.next_multiple_of(BLOCK);
        for pair in &mut self.layers {
            if pair[0].dims()[2] < capacity {
                *pair = pair.clone().map(|cache| widened(cache, capacity));
            }
        }
    }

    /// Moves each row's own slots to the front when most slots belong to no row: otherwise rows
    /// that come and go would make the cache longer and longer.
    fn pack(&mut self) {
        let counts = self
            .own
            .iter()
            .map(|own| own.iter().filter(|own| **own).count());
        let longest = counts.max().unwrap_or(0);
        if self.used < 2 * longest + BLOCK {
            return;
        }
        let capacity = longest.next_multiple_of(BLOCK);
        let fronts: Vec<Vec<i64>> = self
            .own
            .iter()
            .map(|own| {
                let slots = (0..).zip(own).filter(|(_, own)| **own);
                let mut slots: Vec<i64> = slots.map(|(slot, _)| slot).collect();
                slots.resize(capacity, 0);
                slots
            })
            .collect();
        for pair in &mut self.layers {
            *pair = pair.clone().map(|cache| {
                let rows = fronts.iter().enumerate().map(|(row, slots)| {
                    let device = cache.device();
                    let slots = Tensor::<1, Int>::from_data(slots.as_slice(), &device);
                    cache.clone().narrow(0, row, 1).select(2, slots)
                });
                Tensor::cat(rows.collect(), 0)
            });
        }
        for own in &mut self.own {
            let count = own.iter().filter(|own| **own).count();
            *own = (0..longest).map(|slot| slot < count).collect();
        }
        self.used = longest;
    }

    fn mask(&self, device: &Device) -> Tensor<2, Bool> {
        let capacity = self.used.next_multiple_of(BLOCK);
        let mut mask = Vec::with_capacity(self.own.len() * capacity);
        for own in &self.own {
            mask.extend_from_slice(own);
            mask.resize(mask.len() + capacity - own.len(), false);
        }
        Tensor::from_data(TensorData::new(mask, [self.own.len(), capacity]), device)
    }
}

/// Makes room for `capacity` slots.
fn widened(cache_bhkc: Tensor<4>, capacity: usize) -> Tensor<4> {
    let [rows, heads, slots, channels] = cache_bhkc.dims();
    let device = cache_bhkc.device();
    put(
        Tensor::zeros([rows, heads, capacity.max(slots), channels], &device),
        0,
        cache_bhkc,
    )
}

fn put(cache_bhkc: Tensor<4>, at: usize, new_bhkc: Tensor<4>) -> Tensor<4> {
    let [rows, heads, added, channels] = new_bhkc.dims();
    cache_bhkc.slice_assign([0..rows, 0..heads, at..at + added, 0..channels], new_bhkc)
}

/// Reads the scores to the host, row by row.
fn scored(
    scores_b1v: Tensor<3>,
    latents_b1d: Tensor<3>,
    step: usize,
) -> Result<Vec<Scored>, GenerateError> {
    let [rows, _, tokens] = scores_b1v.dims();
    let scores = scores_b1v
        .try_into_vec_as::<f32>()
        .map_err(|why| GenerateError::Device {
            step,
            why: why.to_string(),
        })?;
    let row = |(row, scores): (usize, &[f32])| Scored {
        latent_11d: latents_b1d.clone().narrow(0, row, 1),
        scores: scores.to_vec(),
    };
    let chunks = scores.chunks_exact(tokens.max(1)).take(rows);
    Ok(chunks.enumerate().map(row).collect())
}
