//! Attention of some queries at a time, there and back.
//!
//! The scores of all queries and keys are the largest tensor of a transformer, and an ordinary
//! graph keeps several of that shape. Here scores are made for a chunk of queries, used and
//! dropped; the way back makes them again. What is kept is what came in: queries, keys, values.
//!
//! How many queries a chunk has follows from shapes alone, so a batch of the same shape always
//! launches the same kernels.
//!
//! Suffixes: b batch, h heads, q queries, k keys, c channels of a head.

use std::ops::Range;

use burn::backend::tensor::FloatTensor;
use burn::tensor::activation::softmax;
use burn::tensor::{Bool, DType, Device, Int, Tensor};

use super::{Ordinary, Rule};
use crate::reference::drop_where;
use crate::{AttentionMask, Dropout};

/// What attention does besides its tensors.
#[derive(Clone, Debug)]
pub(crate) struct AttentionRule {
    /// On the device without autodiff.
    pub(crate) mask: AttentionMask,
    pub(crate) scale: f64,
    pub(crate) drop: Option<Dropout>,
    /// The most scores of a chunk.
    pub(crate) scores: usize,
}

/// Some queries, and the keys that any of them may see.
struct Chunk {
    queries: Range<usize>,
    keys: usize,
}

impl AttentionRule {
    /// Divides the queries. Causal queries see fewer keys the earlier they are.
    fn chunks(&self, [batch, heads, queries, keys]: [usize; 4]) -> Vec<Chunk> {
        let most = (self.scores / (batch * heads * keys).max(1)).clamp(1, queries.max(1));
        let starts = (0..queries).step_by(most);
        let chunk = |start: usize| {
            let end = (start + most).min(queries);
            let keys = match self.mask.causal {
                true => (end + keys).saturating_sub(queries).clamp(1, keys),
                false => keys,
            };
            Chunk {
                queries: start..end,
                keys,
            }
        };
        starts.map(chunk).collect()
    }

    /// True for the keys that a query of the chunk may not see, `(batch or 1, 1, queries or 1, keys)`.
    fn hidden(&self, chunk: &Chunk, sizes: [usize; 4], device: &Device) -> Option<Tensor<4, Bool>> {
        let [batch, _, queries, keys] = sizes;
        let rows = chunk.queries.len();
        let future = self.mask.causal.then(|| {
            let offset = chunk.queries.start as i64 + keys as i64 - queries as i64;
            Tensor::<2, Bool>::tril_mask([rows, chunk.keys], offset, device).unsqueeze::<4>()
        });
        let missing = self.mask.keys_bk.clone().map(|keys_bk| {
            let keys_bk = keys_bk.narrow(1, 0, chunk.keys);
            keys_bk.bool_not().reshape([batch, 1, 1, chunk.keys])
        });
        let whole = [batch, 1, rows, chunk.keys];
        match (future, missing) {
            (Some(future), Some(missing)) => {
                Some(future.expand(whole).bool_or(missing.expand(whole)))
            }
            (future, missing) => future.or(missing),
        }
    }

    /// Computes the weights of a chunk's queries, before any is dropped.
    fn weights(
        &self,
        q_bhqc: Tensor<4>,
        k_bhkc: &Tensor<4>,
        chunk: &Chunk,
        sizes: [usize; 4],
    ) -> Tensor<4> {
        let device = q_bhqc.device();
        let keys_bhck = k_bhkc.clone().narrow(2, 0, chunk.keys).swap_dims(2, 3);
        let scores_bhqk = (q_bhqc * self.scale).matmul(keys_bhck);
        match self.hidden(chunk, sizes, &device) {
            None => softmax(scores_bhqk, 3),
            // The value is finite, so that a row that sees no key is not NaN; such a row becomes 0.
            Some(hidden) => {
                let scores_bhqk = scores_bhqk.mask_fill(hidden.clone(), f64::from(f32::MIN) / 4.0);
                softmax(scores_bhqk, 3).mask_fill(hidden, 0.0)
            }
        }
    }

    /// Drops from the weights of a chunk, or from their gradient, what the whole tensor of weights
    /// would drop there.
    fn dropped(&self, x_bhqk: Tensor<4>, chunk: &Chunk, sizes: [usize; 4]) -> Tensor<4> {
        let Some(keep) = self.drop.as_ref().and_then(|drop| drop.keep(&sizes)) else {
            return x_bhqk;
        };
        drop_where(x_bhqk.clone(), places(&x_bhqk, chunk, sizes), keep)
    }

    fn attend(&self, [q_bhqc, k_bhkc, v_bhkc]: [Tensor<4>; 3]) -> Tensor<4> {
        let sizes = sizes(&q_bhqc, &k_bhkc);
        let mixed = self.chunks(sizes).into_iter().map(|chunk| {
            let weights_bhqk = self.weights(part(&q_bhqc, &chunk), &k_bhkc, &chunk, sizes);
            let values_bhkc = v_bhkc.clone().narrow(2, 0, chunk.keys);
            self.dropped(weights_bhqk, &chunk, sizes)
                .matmul(values_bhkc)
        });
        joined(mixed.collect())
    }

    /// Computes the gradients of queries, keys and values, given that of the output.
    fn gradients(
        &self,
        [q_bhqc, k_bhkc, v_bhkc]: [Tensor<4>; 3],
        gradient_bhqc: Tensor<4>,
    ) -> [Tensor<4>; 3] {
        let sizes = sizes(&q_bhqc, &k_bhkc);
        let mut of_queries = vec![];
        let (mut of_keys, mut of_values) = (None, None);
        for chunk in self.chunks(sizes) {
            let own_bhqc = part(&q_bhqc, &chunk);
            let out_bhqc = part(&gradient_bhqc, &chunk);
            let seen = |x_bhkc: &Tensor<4>| x_bhkc.clone().narrow(2, 0, chunk.keys);
            let weights_bhqk = self.weights(own_bhqc.clone(), &k_bhkc, &chunk, sizes);
            let kept_bhqk = self.dropped(weights_bhqk.clone(), &chunk, sizes);
            let value_bhkc = kept_bhqk.swap_dims(2, 3).matmul(out_bhqc.clone());
            let kept_bhqk = out_bhqc.matmul(seen(&v_bhkc).swap_dims(2, 3));
            let weight_bhqk = self.dropped(kept_bhqk, &chunk, sizes);
            // Through the softmax.
            let mean_bhq1 = (weight_bhqk.clone() * weights_bhqk.clone()).sum_dim(3);
            let score_bhqk = (weight_bhqk - mean_bhq1) * weights_bhqk * self.scale;
            of_queries.push(score_bhqk.clone().matmul(seen(&k_bhkc)));
            let key_bhkc = score_bhqk.swap_dims(2, 3).matmul(own_bhqc);
            of_keys = Some(added(of_keys, key_bhkc, &k_bhkc));
            of_values = Some(added(of_values, value_bhkc, &v_bhkc));
        }
        let or_none =
            |sum: Option<Tensor<4>>, of: &Tensor<4>| sum.unwrap_or_else(|| of.zeros_like());
        [
            joined(of_queries),
            or_none(of_keys, &k_bhkc),
            or_none(of_values, &v_bhkc),
        ]
    }
}

impl Rule<3> for AttentionRule {
    fn forward<B: Ordinary>(&self, qkv: [FloatTensor<B>; 3]) -> FloatTensor<B> {
        B::lower(self.attend(qkv.map(B::lift)))
    }

    fn backward<B: Ordinary>(
        &self,
        qkv: [FloatTensor<B>; 3],
        gradient: FloatTensor<B>,
    ) -> [FloatTensor<B>; 3] {
        let found = self.gradients(qkv.map(B::lift), B::lift(gradient));
        found.map(B::lower)
    }
}

/// Returns `[batch, heads, queries, keys]`.
fn sizes(q_bhqc: &Tensor<4>, k_bhkc: &Tensor<4>) -> [usize; 4] {
    let [batch, heads, queries, _] = q_bhqc.dims();
    let [_, _, keys, _] = k_bhkc.dims();
    [batch, heads, queries, keys]
}

fn part(x_bhqc: &Tensor<4>, chunk: &Chunk) -> Tensor<4> {
    let Range { start, end } = chunk.queries;
    x_bhqc.clone().narrow(2, start, end - start)
}

fn joined(mut parts: Vec<Tensor<4>>) -> Tensor<4> {
    match parts.len() {
        1 => parts.remove(0),
        _ => Tensor::cat(parts, 2),
    }
}

/// Adds the gradient of the first keys to the sum for all of them.
fn added(sum: Option<Tensor<4>>, first_bhkc: Tensor<4>, all_bhkc: &Tensor<4>) -> Tensor<4> {
    let [batch, heads, keys, channels] = all_bhkc.dims();
    let [_, _, seen, _] = first_bhkc.dims();
    let whole_bhkc = match keys - seen {
        0 => first_bhkc,
        unseen => {
            let shape = [batch, heads, unseen, channels];
            let zeros = Tensor::zeros(shape, (&first_bhkc.device(), first_bhkc.dtype()));
            Tensor::cat(vec![first_bhkc, zeros], 2)
        }
    };
    match sum {
        Some(sum) => sum + whole_bhkc,
        None => whole_bhkc,
    }
}

/// Returns the index that each of a chunk's weights has in the tensor of all weights, flat.
fn places(x_bhqk: &Tensor<4>, chunk: &Chunk, sizes: [usize; 4]) -> Tensor<1, Int> {
    let [batch, heads, queries, keys] = sizes;
    let (rows, seen) = (chunk.queries.len(), chunk.keys);
    let device = x_bhqk.device();
    let count = |length: usize| Tensor::<1, Int>::arange(0..length as i64, (&device, DType::I32));
    if [rows, seen] == [queries, keys] {
        return count(batch * heads * queries * keys);
    }
    // Sums and products wrap as those of the whole tensor's indices do.
    let wrapped = |length: usize| u32::try_from(length & 0xffff_ffff).map_or(0, u32::cast_signed);
    let heads_n11 = count(batch * heads).reshape([batch * heads, 1, 1]) * wrapped(queries * keys);
    let rows_1q1 = count(rows).reshape([1, rows, 1]) * wrapped(keys);
    let first = wrapped(chunk.queries.start * keys);
    let whole = [batch * heads, rows, seen];
    let index = heads_n11.expand(whole)
        + rows_1q1.expand(whole)
        + count(seen).reshape([1, 1, seen]).expand(whole)
        + first;
    index.reshape([batch * heads * rows * seen])
}
