//! Speaking on the CPU backend: whole layers over slices.
//!
//! A generation makes one code at a time. On tensors that is dozens of operations on a few
//! hundred numbers each, and most of the time goes into calling them. Here a block of the GPT is
//! one call that writes its keys and values in place, and a convolution of the waveform decoder
//! is one call over a stream. Nothing here knows gradients; other devices use the engine's own
//! operations, with which tests compare these.

mod block;
mod cache;
mod convolution;

use burn::backend::flex::FlexTensor;
use burn::backend::{BackendTensor, DispatchTensorKind};
use burn::tensor::{DType, Tensor};

pub use block::{CachedBlock, Positions, head_scores, normalise};
pub use cache::LayerCache;
pub use convolution::{Columns, Convolution, Transposed, Window};

/// The numbers of a tensor of the CPU backend, shared with it.
#[derive(Clone, Debug)]
pub struct HostTensor(FlexTensor);

impl HostTensor {
    /// Takes a tensor; `None` if it is on another device, in another precision or has gradients.
    pub fn of<const D: usize>(x: Tensor<D>) -> Option<Self> {
        if x.dtype() != DType::F32 {
            return None;
        }
        match x.into_dispatch().kind {
            DispatchTensorKind::Flex(BackendTensor::Float(x)) => Some(Self(x.to_contiguous())),
            _ => None,
        }
    }

    /// Whether [`of`](Self::of) can take the tensor.
    pub fn takes<const D: usize>(x: &Tensor<D>) -> bool {
        // A clone shares the numbers.
        Self::of(x.clone()).is_some()
    }

    /// Returns the numbers, row by row.
    pub fn elements(&self) -> &[f32] {
        self.0.storage()
    }
}
