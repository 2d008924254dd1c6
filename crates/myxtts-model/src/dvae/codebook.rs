//! The codebook: lookup, the moving average that trains it, revival.
//!
//! It is made of three buffers under the reference's names. No gradient reaches
//! them; a training step returns the next codebook instead.

use burn::module::{Module, Param};
use burn::tensor::{Bool, Int, Tensor, TensorData};

use crate::init::{Init, mix};

/// Vectors by code, and the moving averages they are made of.
#[derive(Module, Debug)]
pub struct Codebook {
    /// One column per code, `(channels, codes)`.
    pub embed: Param<Tensor<2>>,
    /// Moving average of the uses of a code per step, `(codes)`.
    pub cluster_size: Param<Tensor<1>>,
    /// Moving average of the sum of the vectors that chose a code, `(channels, codes)`.
    pub embed_avg: Param<Tensor<2>>,
}

/// How fast the moving averages move.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MovingAverage {
    /// The share of the old value that a step keeps.
    pub decay: f64,
    /// Uses that every code is credited with, so that an unused one does not cause a division by
    /// 0.
    pub epsilon: f64,
}

impl Default for MovingAverage {
    /// Returns the reference's settings.
    fn default() -> Self {
        Self {
            decay: 0.99,
            epsilon: 1e-5,
        }
    }
}

impl Codebook {
    /// Draws normal vectors, as the reference does.
    pub fn new(init: &Init, channels: usize, codes: usize) -> Self {
        let embed = init.normal([channels, codes], 1.0).val().detach();
        let cluster_size = Tensor::zeros([codes], init.device());
        Self {
            embed_avg: init.buffer(embed.clone()),
            embed: init.buffer(embed),
            cluster_size: init.buffer(cluster_size),
        }
    }

    /// Returns the nearest code of each vector, the first one on ties.
    pub fn lookup(&self, z_nc: Tensor<2>) -> Tensor<1, Int> {
        let [vectors, _] = z_nc.dims();
        let embed_ck = self.embed.val();
        // Computed in the order of the reference, so that near ties round alike.
        let norm_n1 = z_nc.clone().square().sum_dim(1);
        let norm_1k = embed_ck.clone().square().sum_dim(0);
        let distance_nk = norm_n1 - z_nc.matmul(embed_ck) * 2.0 + norm_1k;
        distance_nk.argmin(1).reshape([vectors])
    }

    /// Returns the vectors of codes.
    pub fn vectors(&self, codes_n: Tensor<1, Int>) -> Tensor<2> {
        self.embed.val().transpose().select(0, codes_n)
    }

    /// Returns the codebook after a step in which `z_nc` chose `codes_n`.
    #[must_use]
    pub fn moved(self, z_nc: Tensor<2>, codes_n: Tensor<1, Int>, average: MovingAverage) -> Self {
        let [_, codes] = self.embed.dims();
        let MovingAverage { decay, epsilon } = average;
        let z_nc = z_nc.detach();
        let chosen_nk = codes_n.one_hot::<2>(codes).float();
        let uses_k = chosen_nk.clone().sum_dim(0).reshape([codes]);
        let sums_ck = z_nc.transpose().matmul(chosen_nk);
        let cluster_size_k = self.cluster_size.val() * decay + uses_k * (1.0 - decay);
        let embed_avg_ck = self.embed_avg.val() * decay + sums_ck * (1.0 - decay);
        let total_1 = cluster_size_k.clone().sum();
        let smoothed_k = (cluster_size_k.clone() + epsilon)
            / (total_1.clone() + epsilon * codes as f64)
            * total_1;
        let embed_ck = embed_avg_ck.clone() / smoothed_k.reshape([1, codes]);
        self.with(embed_ck, cluster_size_k, embed_avg_ck)
    }

    /// Replaces codes used less than `below` times a step on average by vectors of this batch,
    /// drawn by `key`, which then count as used once.
    ///
    /// A code that is never used loses a hundredth of its average each step (at the default
    /// decay), so `below` decides how long is too long. Nothing is read back from the device.
    #[must_use]
    pub fn revived(self, z_nc: Tensor<2>, below: f64, key: u64) -> Self {
        let [channels, codes] = self.embed.dims();
        let seeds_ck = drawn_rows(z_nc.detach(), codes, key).transpose();
        let cluster_size_k = self.cluster_size.val();
        let dead_k = cluster_size_k.clone().lower_elem(below);
        let dead_ck = dead_k.clone().reshape([1, codes]).expand([channels, codes]);
        let embed_ck = self
            .embed
            .val()
            .mask_where(dead_ck.clone(), seeds_ck.clone());
        let embed_avg_ck = self.embed_avg.val().mask_where(dead_ck, seeds_ck);
        self.with(
            embed_ck,
            cluster_size_k.mask_fill(dead_k, 1.0),
            embed_avg_ck,
        )
    }

    /// Returns this codebook if the device says so, and otherwise the one `before`, number for
    /// number.
    #[must_use]
    pub fn only_if(self, applies_1: Tensor<1, Bool>, before: &Self) -> Self {
        let applies_1 = applies_1.autodiff();
        let applies_11 = applies_1.clone().reshape([1, 1]);
        let choose = |old: &Param<Tensor<2>>, new: &Param<Tensor<2>>| {
            old.val().mask_where(applies_11.clone(), new.val())
        };
        let embed_ck = choose(&before.embed, &self.embed);
        let embed_avg_ck = choose(&before.embed_avg, &self.embed_avg);
        let cluster_size_k = before.cluster_size.val();
        let cluster_size_k = cluster_size_k.mask_where(applies_1, self.cluster_size.val());
        self.with(embed_ck, cluster_size_k, embed_avg_ck)
    }

    /// Returns a codebook of encoder outputs drawn by `key`; all are different if there are at
    /// least as many as codes.
    #[must_use]
    pub(crate) fn seeded(self, z_nc: Tensor<2>, key: u64) -> Self {
        let [_, codes] = self.embed.dims();
        let embed_ck = drawn_rows(z_nc.detach(), codes, key).transpose();
        let ones_k = self.cluster_size.val().ones_like();
        self.with(embed_ck.clone(), ones_k, embed_ck)
    }

    fn with(self, embed_ck: Tensor<2>, cluster_size_k: Tensor<1>, embed_avg_ck: Tensor<2>) -> Self {
        Self {
            embed: self.embed.map(|_| embed_ck.detach()),
            cluster_size: self.cluster_size.map(|_| cluster_size_k.detach()),
            embed_avg: self.embed_avg.map(|_| embed_avg_ck.detach()),
        }
    }
}

/// Draws `count` rows: a shuffle of all of them, repeated if there are too few.
fn drawn_rows(rows_nc: Tensor<2>, count: usize, key: u64) -> Tensor<2> {
    let [rows, _] = rows_nc.dims();
    let mut order: Vec<usize> = (0..rows).collect();
    for at in 0..count.min(rows) {
        let left = (rows - at) as u64;
        let jump = usize::try_from(mix(key ^ mix(at as u64)) % left).unwrap_or_default();
        order.swap(at, at + jump);
    }
    let drawn: Vec<i64> = order
        .into_iter()
        .cycle()
        .take(count)
        .map(usize::cast_signed)
        .map(|row| row as i64)
        .collect();
    let index_k = Tensor::from_data(TensorData::new(drawn, [count]), &rows_nc.device());
    rows_nc.select(0, index_k)
}
