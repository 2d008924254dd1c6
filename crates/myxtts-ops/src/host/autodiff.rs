//! Records an operation in the gradient graph.

use std::fmt::Debug;

use burn::backend::Flex;
use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, flex::FlexTensor};

/// What an operation with `N` inputs keeps for its backward pass.
pub(super) trait SavedForBackward<const N: usize>: Clone + Send + Debug + 'static {
    /// Computes the gradients of the inputs that need one.
    fn backward(self, gradient: FlexTensor, wanted: [bool; N]) -> [Option<FlexTensor>; N];
}

#[derive(Debug)]
struct BackwardOp<K>(std::marker::PhantomData<fn() -> K>);

impl<K: SavedForBackward<N>, const N: usize> Backward<Flex, N> for BackwardOp<K> {
    type State = K;

    fn backward(self, ops: Ops<K, N>, grads: &mut Gradients, _: &mut Checkpointer) {
        let gradient = grads.consume::<Flex>(&ops.node);
        let wanted = ops.parents.each_ref().map(Option::is_some);
        let gradients = ops.state.backward(gradient, wanted);
        for (parent, gradient) in ops.parents.into_iter().zip(gradients) {
            if let (Some(parent), Some(gradient)) = (parent, gradient) {
                grads.register::<Flex>(parent.id, gradient);
            }
        }
    }
}

/// Runs `forward` on the inputs, and records what it keeps if a gradient will be needed.
pub(super) fn record<C: CheckpointStrategy, K: SavedForBackward<N>, const N: usize>(
    inputs: [FloatTensor<Autodiff<Flex, C>>; N],
    forward: impl FnOnce([FlexTensor; N]) -> (K, FlexTensor),
) -> FloatTensor<Autodiff<Flex, C>> {
    let nodes = inputs.each_ref().map(|input| input.node());
    let (kept, output) = forward(inputs.map(|input| input.into_primitive()));
    match BackwardOp::<K>(std::marker::PhantomData)
        .prepare::<C>(nodes)
        .compute_bound()
        .stateful()
    {
        OpsKind::Tracked(preparation) => preparation.finish(kept, output),
        OpsKind::UnTracked(preparation) => preparation.finish(output),
    }
}
