//! Operations that keep their inputs and compute everything else again on the way back, on any
//! device.
//!
//! What an operation computes, there and back, is written with ordinary tensors. This file puts it
//! into the gradient graph, which knows an operation by its backend's tensors.

mod attention;
mod cross_entropy;

use std::fmt::Debug;
use std::marker::PhantomData;

use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::tensor::FloatTensor;
use burn::backend::{
    Autodiff, Backend, BackendTensor, Cube, DispatchAutodiffContext, DispatchTensor,
    DispatchTensorKind, Flex, backend_extension,
};
use burn::tensor::Tensor;

pub(crate) use attention::AttentionRule;
pub(crate) use cross_entropy::CrossEntropyRule;

#[backend_extension(Cube, Flex, Autodiff)]
pub(crate) trait RecomputedOps: Backend {
    /// Attention, of tensors `(batch, heads, length, channels)`.
    fn recomputed_attention(
        q: FloatTensor<Self>,
        k: FloatTensor<Self>,
        v: FloatTensor<Self>,
        rule: AttentionRule,
    ) -> FloatTensor<Self>;

    /// The mean cross entropy of logits `(rows, classes)`.
    fn recomputed_cross_entropy(
        logits: FloatTensor<Self>,
        rule: CrossEntropyRule,
    ) -> FloatTensor<Self>;
}

/// What an operation with `N` inputs computes, there and back.
trait Rule<const N: usize>: Clone + Debug + Send + 'static {
    fn forward<B: Ordinary>(&self, inputs: [FloatTensor<B>; N]) -> FloatTensor<B>;

    /// Computes the gradients of the inputs, given that of the output.
    fn backward<B: Ordinary>(
        &self,
        inputs: [FloatTensor<B>; N],
        gradient: FloatTensor<B>,
    ) -> [FloatTensor<B>; N];
}

/// A backend whose tensors can be computed with as ordinary ones.
trait Ordinary: Backend {
    fn lift<const D: usize>(primitive: FloatTensor<Self>) -> Tensor<D>;
    fn lower<const D: usize>(tensor: Tensor<D>) -> FloatTensor<Self>;
}

macro_rules! ordinary {
    ($($backend:ident),+) => {$(
        impl Ordinary for $backend {
            fn lift<const D: usize>(primitive: FloatTensor<Self>) -> Tensor<D> {
                Tensor::from_dispatch(DispatchTensor {
                    kind: DispatchTensorKind::$backend(BackendTensor::Float(primitive)),
                    autodiff: DispatchAutodiffContext::Disabled,
                })
            }

            fn lower<const D: usize>(tensor: Tensor<D>) -> FloatTensor<Self> {
                match tensor.into_dispatch().kind {
                    DispatchTensorKind::$backend(tensor) => tensor.float(),
                    // What is computed of a backend's tensors is of that backend.
                    _ => unreachable!("a tensor of {} on another backend", stringify!($backend)),
                }
            }
        }

        impl RecomputedOps for $backend {
            fn recomputed_attention(
                q: FloatTensor<Self>,
                k: FloatTensor<Self>,
                v: FloatTensor<Self>,
                rule: AttentionRule,
            ) -> FloatTensor<Self> {
                rule.forward::<Self>([q, k, v])
            }

            fn recomputed_cross_entropy(
                logits: FloatTensor<Self>,
                rule: CrossEntropyRule,
            ) -> FloatTensor<Self> {
                rule.forward::<Self>([logits])
            }
        }

        impl<C: CheckpointStrategy> RecomputedOps for Autodiff<$backend, C> {
            fn recomputed_attention(
                q: FloatTensor<Self>,
                k: FloatTensor<Self>,
                v: FloatTensor<Self>,
                rule: AttentionRule,
            ) -> FloatTensor<Self> {
                record::<$backend, C, _, _>([q, k, v], rule)
            }

            fn recomputed_cross_entropy(
                logits: FloatTensor<Self>,
                rule: CrossEntropyRule,
            ) -> FloatTensor<Self> {
                record::<$backend, C, _, _>([logits], rule)
            }
        }
    )+};
}

ordinary!(Cube, Flex);

/// What the way back needs.
#[derive(Clone, Debug)]
struct Saved<P, R, const N: usize> {
    inputs: [P; N],
    rule: R,
}

#[derive(Debug)]
struct RuleBackward<B, R>(PhantomData<fn() -> (B, R)>);

impl<B: Ordinary, R: Rule<N>, const N: usize> Backward<B, N> for RuleBackward<B, R> {
    type State = Saved<FloatTensor<B>, R, N>;

    fn backward(self, ops: Ops<Self::State, N>, grads: &mut Gradients, _: &mut Checkpointer) {
        let gradient = grads.consume::<B>(&ops.node);
        let Saved { inputs, rule } = ops.state;
        let found = rule.backward::<B>(inputs, gradient);
        for (parent, gradient) in ops.parents.into_iter().zip(found) {
            if let Some(parent) = parent {
                grads.register::<B>(parent.id, gradient);
            }
        }
    }
}

/// Computes the output, and keeps the inputs if a gradient will be needed.
fn record<B: Ordinary, C: CheckpointStrategy, R: Rule<N>, const N: usize>(
    inputs: [FloatTensor<Autodiff<B, C>>; N],
    rule: R,
) -> FloatTensor<Autodiff<B, C>> {
    let nodes = inputs.each_ref().map(|input| input.node());
    let inputs = inputs.map(|input| input.into_primitive());
    let output = rule.forward::<B>(inputs.clone());
    match RuleBackward::<B, R>(PhantomData)
        .prepare::<C>(nodes)
        .compute_bound()
        .stateful()
    {
        OpsKind::Tracked(preparation) => preparation.finish(Saved { inputs, rule }, output),
        OpsKind::UnTracked(preparation) => preparation.finish(output),
    }
}
