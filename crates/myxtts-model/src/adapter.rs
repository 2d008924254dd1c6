//! Adapters (LoRA): what a frozen layer learns, as the product of two thin matrices.
//!
//! The layer computes `x w + x down up + b`. `up` starts at zero, so the first step begins with the
//! layer as it was; `w + down up` is the layer that was learned, and is what everybody else gets to
//! see of it.
//!
//! Suffixes: i inputs, r rank, o outputs.

use burn::module::{Module, Param};
use burn::tensor::Tensor;
use myxtts_ops::{Compute, transposed_linear};

use crate::init::Init;

/// What a frozen layer learns.
#[derive(Module, Debug)]
pub(crate) struct Adapter {
    /// From inputs to the rank, `(in, rank)`.
    down: Param<Tensor<2>>,
    /// From the rank to outputs, `(rank, out)`.
    up: Param<Tensor<2>>,
}

impl Adapter {
    /// Draws `down` with a variance of one in `rank`. AdamW moves every number of `up` by about the
    /// learning rate; with this variance their product moves by as much, so that a rate means here
    /// what it means where the whole weight is trained.
    pub(crate) fn new(init: &Init, [inputs, outputs]: [usize; 2], rank: usize) -> Self {
        Self {
            down: init.normal([inputs, rank], 1.0 / (rank as f64).sqrt()),
            up: init.constant([rank, outputs], 0.0),
        }
    }

    /// Computes what is added to the layer's output.
    pub(crate) fn forward_in<const D: usize>(&self, x: Tensor<D>, compute: Compute) -> Tensor<D> {
        let thin = compute.transposed_linear(x, self.down.val(), None);
        compute.transposed_linear(thin, self.up.val(), None)
    }

    /// Adds the adapter to the weight of its layer.
    pub(crate) fn merged_with(&self, weight_io: Tensor<2>) -> Tensor<2> {
        weight_io + transposed_linear(self.down.val(), self.up.val(), None)
    }
}
