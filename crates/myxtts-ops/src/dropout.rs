//! Dropout as a pure function of a key, so that a resumed run drops the same.

use burn::backend::Dispatch;
use burn::tensor::Tensor;

use crate::host::{self, HostOps};
use crate::kernel::dropout::Keep;
use crate::reference;

/// What to drop: each element on its own, with this probability.
///
/// Which elements are dropped is a function of the key and of their place in the tensor, the same
/// on every backend.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dropout {
    /// The share of elements that become 0; the rest is scaled by `1 / (1 - p)`.
    pub probability: f64,
    /// The key of the draw: the same key drops the same elements.
    pub key: u64,
    /// Rows of the batch before the tensor's first, if the tensor is a piece of a batch: a piece
    /// drops what the whole would.
    pub first_row: usize,
}

impl Dropout {
    /// Returns the draw of a tensor with these sizes; `None` if it drops nothing.
    pub(crate) fn keep(&self, sizes: &[usize]) -> Option<Keep> {
        let row: usize = sizes.iter().skip(1).product();
        let keep = || Keep::new(self.probability, self.key).after(self.first_row * row);
        (self.probability > 0.0).then(keep)
    }
}

/// Sets elements to 0 as `drop` draws them, and scales the rest.
pub fn dropout<const D: usize>(x: Tensor<D>, drop: &Dropout) -> Tensor<D> {
    let Some(keep) = drop.keep(&x.dims()) else {
        return x;
    };
    if !host::takes(&x) {
        return reference::dropout(x, drop);
    }
    Tensor::from_dispatch(Dispatch::host_dropout(x.into_dispatch(), keep))
}

/// Computes `residual + dropout(x)`; the shapes must be the same.
pub fn dropout_add<const D: usize>(
    x: Tensor<D>,
    residual: Tensor<D>,
    drop: Option<&Dropout>,
) -> Tensor<D> {
    if !host::takes(&x) || x.dims() != residual.dims() {
        return reference::dropout_add(x, residual, drop);
    }
    // Without a draw this is still the faster sum: on all cores, into existing storage.
    let keep = drop
        .and_then(|drop| drop.keep(&x.dims()))
        .unwrap_or_else(|| Keep::new(0.0, 0));
    Tensor::from_dispatch(Dispatch::host_dropout_add(
        x.into_dispatch(),
        residual.into_dispatch(),
        keep,
    ))
}
