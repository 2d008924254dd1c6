//! The operations on the CPU backend, with their own backward passes.
//!
//! Every method keeps what its backward pass needs and no more: the inputs by reference, and a
//! number or two per row. Tensors are contiguous `f32`, or are made so; other element types take
//! the plain compositions.

mod autodiff;
mod backward;
mod convolve;
mod tensor;

use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, Backend, DispatchDevice, Flex, backend_extension};
use burn::tensor::{DType, Device, Tensor};

use crate::kernel::adamw::Step;
use crate::kernel::attention::Rule;
use crate::kernel::conv_batch::ConvRule;
use crate::kernel::dropout::Keep;
use autodiff::record;
use backward::{
    Attend, AttendMerged, CrossEntropy, Drop, DropAdd, Gelu, GroupNorm, LayerNorm, Linear,
    Pointwise,
};
use convolve::Convolve;

/// Whether the operations here can take this tensor.
pub(crate) fn takes<const D: usize>(x: &Tensor<D>) -> bool {
    // Looking at one device is enough for all tensors of a call: mixing devices fails anyway.
    is_host(&x.device()) && x.dtype() == DType::F32
}

/// Whether this is the CPU backend, with or without gradients.
pub(crate) fn is_host(device: &Device) -> bool {
    match device.as_dispatch() {
        DispatchDevice::Flex(_) => true,
        DispatchDevice::Autodiff(device) => matches!(**device, DispatchDevice::Flex(_)),
        _ => false,
    }
}

/// The order of the dimensions of a linear layer's weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WeightLayout {
    /// Inputs first: `(in, out)`.
    InOut,
    /// Outputs first: `(out, in)`.
    OutIn,
}

/// The class of every row, which is not a tensor: the kernel reads it on the host.
type Targets = Vec<i64>;

/// Makes the trait of all operations and its two implementations from one list: the
/// operation's name, its tensors, what else it takes, and the rule that computes it
/// and its way back.
macro_rules! operations {
    ($(
        $(#[$doc:meta])*
        fn $name:ident($($tensor:ident),+ $(; $($with:ident: $kind:ident),+)?) = $rule:ident;
    )+) => {
        /// Operations of the CPU backend beyond the engine's.
        #[backend_extension(Flex, Autodiff)]
        pub(crate) trait HostOps: Backend {
            $(
                $(#[$doc])*
                fn $name(
                    $($tensor: FloatTensor<Self>,)+
                    $($($with: $kind),+)?
                ) -> FloatTensor<Self>;
            )+
        }

        impl HostOps for Flex {
            $(
                fn $name(
                    $($tensor: FloatTensor<Self>,)+
                    $($($with: $kind),+)?
                ) -> FloatTensor<Self> {
                    $rule::forward($($tensor,)+ $($($with),+)?).1
                }
            )+
        }

        impl<C: CheckpointStrategy> HostOps for Autodiff<Flex, C> {
            $(
                fn $name(
                    $($tensor: FloatTensor<Self>,)+
                    $($($with: $kind),+)?
                ) -> FloatTensor<Self> {
                    record::<C, _, _>([$($tensor),+], |[$($tensor),+]| {
                        $rule::forward($($tensor,)+ $($($with),+)?)
                    })
                }
            )+
        }
    };
}

operations! {
    fn host_layer_norm(x, weight, bias; epsilon: f32) = LayerNorm;
    fn host_group_norm(x, weight, bias; groups: usize, epsilon: f32) = GroupNorm;
    fn host_gelu(x) = Gelu;
    fn host_dropout(x; keep: Keep) = Drop;
    fn host_dropout_add(x, residual; keep: Keep) = DropAdd;
    /// An empty bias is none.
    fn host_linear(x, weight, bias; layout: WeightLayout) = Linear;
    /// An empty bias is none.
    fn host_pointwise(x, weight, bias) = Pointwise;
    /// An empty bias is none.
    fn host_convolve(x, weight, bias; rule: ConvRule) = Convolve;
    fn host_attention(q, k, v; rule: Rule) = Attend;
    fn host_attention_merged(qkv; rule: Rule) = AttendMerged;
    fn host_cross_entropy(logits; targets: Targets, smoothing: f32) = CrossEntropy;
}

/// The optimizer's operations, which work on tensors without gradients.
#[backend_extension(Flex)]
pub(crate) trait HostStep: Backend {
    fn host_adamw(
        parameter: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        first: FloatTensor<Self>,
        second: FloatTensor<Self>,
        with: Step,
    ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>);

    fn host_sum_of_squares(x: FloatTensor<Self>) -> FloatTensor<Self>;
}

impl HostStep for Flex {
    fn host_adamw(
        parameter: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        first: FloatTensor<Self>,
        second: FloatTensor<Self>,
        with: Step,
    ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>) {
        backward::adamw(parameter, gradient, first, second, with)
    }

    fn host_sum_of_squares(x: FloatTensor<Self>) -> FloatTensor<Self> {
        backward::sum_of_squares(x)
    }
}
