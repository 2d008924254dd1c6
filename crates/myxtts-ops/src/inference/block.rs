//! A block of GPT-2 over the next positions of several sequences.

use std::sync::Arc;

use burn::tensor::Tensor;
use rayon::prelude::*;

use super::HostTensor;
use super::cache::LayerCache;
use crate::kernel::gelu;
use crate::kernel::head;
use crate::kernel::math::{exp, max, sum, sum2, vectorize};
use crate::kernel::panels::Panels;
use crate::kernel::rounded::Rounded;

/// The numbers of keys below which attention stays on one thread.
const SHARED: usize = 1 << 17;

/// A block's parameters, with its weights in the order in which they are read.
#[derive(Clone, Debug)]
pub struct CachedBlock {
    norm_1: [HostTensor; 2],
    qkv: Linear,
    attended: Linear,
    norm_2: [HostTensor; 2],
    wide: Linear,
    narrow: Linear,
    heads: usize,
    epsilon: f32,
}

/// A linear layer; clones share its weight.
#[derive(Clone, Debug)]
struct Linear {
    weight: Weight,
    bias: HostTensor,
}

#[derive(Clone, Debug)]
enum Weight {
    Full(Arc<Panels>),
    Rounded(Arc<Rounded>),
}

/// The next positions of one sequence.
#[derive(Debug)]
pub struct Positions<'a> {
    /// The positions before them, to which they are added.
    pub cache: &'a mut LayerCache,
    /// How many of the rows belong to this sequence.
    pub count: usize,
}

impl CachedBlock {
    /// Makes a block of two norms, each with scale and shift, and of four linear layers, each
    /// with a weight `(in, out)` and a bias: to queries, keys and values, back; to the width of
    /// the feed-forward part, back. `None` if [`HostTensor::of`] does not take one of them.
    pub fn new(
        [norm_1, norm_2]: [[Tensor<1>; 2]; 2],
        [qkv, attended, wide, narrow]: [(Tensor<2>, Tensor<1>); 4],
        heads: usize,
        epsilon: f32,
    ) -> Option<Self> {
        let norm =
            |[scale, shift]: [Tensor<1>; 2]| Some([HostTensor::of(scale)?, HostTensor::of(shift)?]);
        let linear = |(weight, bias): (Tensor<2>, Tensor<1>)| {
            let [_, outputs] = weight.dims();
            let weight = HostTensor::of(weight)?;
            Some(Linear {
                weight: Weight::Full(Arc::new(Panels::new(weight.elements(), outputs))),
                bias: HostTensor::of(bias)?,
            })
        };
        Some(Self {
            norm_1: norm(norm_1)?,
            qkv: linear(qkv)?,
            attended: linear(attended)?,
            norm_2: norm(norm_2)?,
            wide: linear(wide)?,
            narrow: linear(narrow)?,
            heads,
            epsilon,
        })
    }

    /// Returns the same block with its weights in eight bits: a quarter to read, and about the
    /// same results.
    #[must_use]
    pub fn rounded(&self) -> Self {
        let [qkv, attended, wide, narrow] =
            [&self.qkv, &self.attended, &self.wide, &self.narrow].map(Linear::rounded);
        Self {
            qkv,
            attended,
            wide,
            narrow,
            ..self.clone()
        }
    }

    /// Returns the number of weights in the linear layers.
    pub fn weights(&self) -> usize {
        12 * self.channels() * self.channels()
    }

    /// Returns the channels of a position.
    pub(crate) fn channels(&self) -> usize {
        self.norm_1[0].elements().len()
    }

    /// Makes an empty cache for this block.
    pub fn cache(&self, room: usize) -> LayerCache {
        LayerCache::new(self.heads, self.channels() / self.heads, room)
    }

    /// Runs the rows of `x`, which are the next positions of each sequence in turn. A position
    /// comes out the same, number for number, whether the positions before it are computed
    /// together with it or were computed earlier.
    pub fn advance(&self, x: &mut [f32], sequences: &mut [Positions<'_>]) {
        let rows = x.len() / self.channels();
        let normal = normalise(x, &self.norm_1, self.epsilon);
        let qkv = self.qkv.of(&normal, rows);
        let mut mixed = vec![0.0; x.len()];
        self.attend(&qkv, sequences, &mut mixed);
        self.attended.add(&mixed, x, rows);
        let normal = normalise(x, &self.norm_2, self.epsilon);
        let mut wide = self.wide.of(&normal, rows);
        vectorize(
            #[inline(always)]
            || {
                for x in &mut wide {
                    *x = gelu::value(*x);
                }
            },
        );
        self.narrow.add(&wide, x, rows);
    }

    fn attend(&self, qkv: &[f32], sequences: &mut [Positions<'_>], mixed: &mut [f32]) {
        let channels = self.channels();
        let per_head = channels / self.heads;
        let scale = 1.0 / (per_head as f32).sqrt();
        // Each query needs its head's keys and values up to itself, and its place in the output.
        let mut single = vec![];
        let (mut qkv, mut mixed) = (qkv, mixed);
        for Positions { cache, count } in sequences {
            let (rows, later) = qkv.split_at(*count * 3 * channels);
            let (out, rest) = mixed.split_at_mut(*count * channels);
            (qkv, mixed) = (later, rest);
            let before = cache.length();
            cache.append(rows);
            let rows = rows.chunks_exact(3 * channels);
            let positions = (before + 1..).zip(rows.zip(out.chunks_exact_mut(channels)));
            for (seen, (row, out)) in positions {
                let heads = out.chunks_exact_mut(per_head);
                let queries = row[..channels].chunks_exact(per_head);
                for (head, (query, out)) in queries.zip(heads).enumerate() {
                    single.push((query, cache.head(head, seen), out));
                }
            }
        }
        let work: usize = single.iter().map(|(_, [keys, _], _)| keys.len()).sum();
        let one = |(query, [keys, values], out): (&[f32], [&[f32]; 2], &mut [f32])| {
            one_query(query, keys, values, scale, out);
        };
        if work < SHARED {
            single.into_iter().for_each(one);
        } else {
            single.into_par_iter().for_each(one);
        }
    }
}

/// Computes `softmax(scale q k^T) v` of one query.
fn one_query(query: &[f32], keys: &[f32], values: &[f32], scale: f32, out: &mut [f32]) {
    let channels = query.len();
    let mut weights = vec![0.0; keys.len() / channels.max(1)];
    vectorize(
        #[inline(always)]
        || {
            for (weight, key) in weights.iter_mut().zip(keys.chunks_exact(channels)) {
                *weight = scale * sum2(query, key, |q, k| q * k);
            }
            let most = max(&weights);
            for weight in &mut weights {
                *weight = exp(*weight - most);
            }
            let share = 1.0 / sum(&weights, |weight| weight);
            for (&weight, value) in weights.iter().zip(values.chunks_exact(channels)) {
                for (out, &value) in out.iter_mut().zip(value) {
                    *out += weight * value;
                }
            }
            for out in out {
                *out *= share;
            }
        },
    );
}

/// Applies a layer norm to rows as wide as its scale and shift.
pub fn normalise(x: &[f32], [scale, shift]: &[HostTensor; 2], epsilon: f32) -> Vec<f32> {
    let (scale, shift) = (scale.elements(), shift.elements());
    let mut y = x.to_vec();
    vectorize(
        #[inline(always)]
        || {
            for row in y.chunks_exact_mut(scale.len()) {
                let count = row.len() as f32;
                let mean = sum(row, |x| x) / count;
                let variance = sum(row, |x| (x - mean) * (x - mean)) / count;
                let factor = 1.0 / (variance + epsilon).sqrt();
                for ((x, &scale), &shift) in row.iter_mut().zip(scale).zip(shift) {
                    *x = (*x - mean) * factor * scale + shift;
                }
            }
        },
    );
    y
}

/// Computes the scores of a head with a weight `(out, in)`, for rows as wide as its inputs.
pub fn head_scores(x: &[f32], [weight_oi, bias]: &[HostTensor; 2]) -> Vec<f32> {
    let (weight_oi, bias) = (weight_oi.elements(), bias.elements());
    let inputs = weight_oi.len() / bias.len().max(1);
    let rows = x.len() / inputs.max(1);
    let mut scores = vec![0.0; rows * bias.len()];
    head::product_of_rows(x, weight_oi, bias, &mut scores, rows);
    scores
}

impl Linear {
    fn rounded(&self) -> Self {
        let weight = match &self.weight {
            Weight::Full(panels) => Arc::new(Rounded::new(panels)),
            Weight::Rounded(rounded) => rounded.clone(),
        };
        Self {
            weight: Weight::Rounded(weight),
            bias: self.bias.clone(),
        }
    }

    fn of(&self, x: &[f32], rows: usize) -> Vec<f32> {
        let mut y = vec![0.0; rows * self.bias.elements().len()];
        self.add(x, &mut y, rows);
        y
    }

    /// Computes `y += x w + b`.
    fn add(&self, x: &[f32], y: &mut [f32], rows: usize) {
        let bias = self.bias.elements();
        for row in y.chunks_exact_mut(bias.len().max(1)) {
            for (y, b) in row.iter_mut().zip(bias) {
                *y += b;
            }
        }
        match &self.weight {
            Weight::Full(panels) => panels.add_product(x, y, rows),
            Weight::Rounded(rounded) => {
                let pairs = x.chunks_exact((x.len() / rows.max(1)).max(1));
                for (x, y) in pairs.zip(y.chunks_exact_mut(bias.len().max(1))) {
                    rounded.add_product(x, y);
                }
            }
        }
    }
}
