//! Dropout as a pure function of a key, so that a resumed run drops the same.

use burn::backend::Dispatch;
use burn::tensor::Tensor;

use crate::host::{self, HostOps};
use crate::kernel::dropout::Keep;
use crate::plain;

/// What to drop: each element on its own, with this probability.
///
/// The elements dropped are a function of the key and of their place in the
/// tensor, the same on every backend.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dropout {
    /// Share of elements that become 0; the rest is scaled by `1 / (1 - p)`.
    pub probability: f64,
    /// Names the draw: the same key drops the same elements.
    pub key: u64,
    /// Rows that come before the tensor's first, where it is a piece of a
    /// batch: a piece drops what the whole would.
    pub first_row: usize,
}

impl Dropout {
    /// The draw of a tensor with these sizes, if it drops anything.
    pub(crate) fn keep(&self, sizes: &[usize]) -> Option<Keep> {
        let row: usize = sizes.iter().skip(1).product();
        let keep = || Keep::new(self.probability, self.key).after(self.first_row * row);
        (self.probability > 0.0).then(keep)
    }
}

/// Drops elements.
pub fn dropout<const D: usize>(x: Tensor<D>, drop: &Dropout) -> Tensor<D> {
    let Some(keep) = drop.keep(&x.dims()) else {
        return x;
    };
    if !host::takes(&x) {
        return plain::dropout(x, drop);
    }
    Tensor::from_dispatch(Dispatch::host_dropout(x.into_dispatch(), keep))
}

/// `residual + dropout(x)`; the shapes are the same.
pub fn dropout_add<const D: usize>(
    x: Tensor<D>,
    residual: Tensor<D>,
    drop: Option<&Dropout>,
) -> Tensor<D> {
    if !host::takes(&x) || x.dims() != residual.dims() {
        return plain::dropout_add(x, residual, drop);
    }
    // Without a draw this is still the faster sum: on all cores, into the residual's own storage.
    let keep = drop
        .and_then(|drop| drop.keep(&x.dims()))
        .unwrap_or_else(|| Keep::new(0.0, 0));
    Tensor::from_dispatch(Dispatch::host_dropout_add(
        x.into_dispatch(),
        residual.into_dispatch(),
        keep,
    ))
}
