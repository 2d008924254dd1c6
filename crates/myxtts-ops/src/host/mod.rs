//! The operations on the CPU backend, with their own ways back.
//!
//! Every method keeps what its backward needs and no more: the inputs by
//! reference, and a number or two per row. Tensors are contiguous `f32`, or
//! are made so; other element types take the plain compositions.

mod convolve;
mod record;
mod rules;
mod tensor;

use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, Backend, DispatchDevice, Flex, backend_extension};
use burn::tensor::{DType, Device, Tensor};

use crate::kernel::adamw::Step;
use crate::kernel::attention::Rule;
use crate::kernel::conv_batch::ConvRule;
use crate::kernel::dropout::Keep;
use convolve::Convolve;
use record::record;
use rules::{
    Attend, AttendMerged, CrossEntropy, Drop, DropAdd, Gelu, GroupNorm, LayerNorm, Linear,
    Pointwise,
};

/// Whether the operations here take this tensor.
pub(crate) fn takes<const D: usize>(x: &Tensor<D>) -> bool {
    // One look at the device suffices for all of a call's tensors: mixing devices fails anyway.
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

/// How a linear layer's weight lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WeightLayout {
    /// `(in, out)`.
    InOut,
    /// `(out, in)`.
    OutIn,
}

/// Operations of the CPU backend beyond the engine's.
#[backend_extension(Flex, Autodiff)]
pub(crate) trait HostOps: Backend {
    fn host_layer_norm(
        x: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        epsilon: f32,
    ) -> FloatTensor<Self>;

    fn host_group_norm(
        x: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        groups: usize,
        epsilon: f32,
    ) -> FloatTensor<Self>;

    fn host_gelu(x: FloatTensor<Self>) -> FloatTensor<Self>;

    fn host_dropout(x: FloatTensor<Self>, keep: Keep) -> FloatTensor<Self>;

    fn host_dropout_add(
        x: FloatTensor<Self>,
        residual: FloatTensor<Self>,
        keep: Keep,
    ) -> FloatTensor<Self>;

    /// An empty bias is none.
    fn host_linear(
        x: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        layout: WeightLayout,
    ) -> FloatTensor<Self>;

    /// An empty bias is none.
    fn host_pointwise(
        x: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
    ) -> FloatTensor<Self>;

    /// An empty bias is none.
    fn host_convolve(
        x: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        rule: ConvRule,
    ) -> FloatTensor<Self>;

    fn host_attention(
        q: FloatTensor<Self>,
        k: FloatTensor<Self>,
        v: FloatTensor<Self>,
        rule: Rule,
    ) -> FloatTensor<Self>;

    fn host_attention_merged(qkv: FloatTensor<Self>, rule: Rule) -> FloatTensor<Self>;

    fn host_cross_entropy(
        logits: FloatTensor<Self>,
        targets: Vec<i64>,
        smoothing: f32,
    ) -> FloatTensor<Self>;
}

/// The optimiser's part: it works on plain tensors.
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

impl HostOps for Flex {
    fn host_layer_norm(
        x: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        epsilon: f32,
    ) -> FloatTensor<Self> {
        LayerNorm::forward(x, weight, bias, epsilon).1
    }

    fn host_group_norm(
        x: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        groups: usize,
        epsilon: f32,
    ) -> FloatTensor<Self> {
        GroupNorm::forward(x, weight, bias, groups, epsilon).1
    }

    fn host_gelu(x: FloatTensor<Self>) -> FloatTensor<Self> {
        Gelu::forward(x).1
    }

    fn host_dropout(x: FloatTensor<Self>, keep: Keep) -> FloatTensor<Self> {
        Drop::forward(x, keep).1
    }

    fn host_dropout_add(
        x: FloatTensor<Self>,
        residual: FloatTensor<Self>,
        keep: Keep,
    ) -> FloatTensor<Self> {
        DropAdd::forward(x, residual, keep).1
    }

    fn host_linear(
        x: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        layout: WeightLayout,
    ) -> FloatTensor<Self> {
        Linear::forward(x, weight, bias, layout).1
    }

    fn host_pointwise(
        x: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        Pointwise::forward(x, weight, bias).1
    }

    fn host_convolve(
        x: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        rule: ConvRule,
    ) -> FloatTensor<Self> {
        Convolve::forward(x, weight, bias, rule).1
    }

    fn host_attention(
        q: FloatTensor<Self>,
        k: FloatTensor<Self>,
        v: FloatTensor<Self>,
        rule: Rule,
    ) -> FloatTensor<Self> {
        Attend::forward(q, k, v, rule).1
    }

    fn host_attention_merged(qkv: FloatTensor<Self>, rule: Rule) -> FloatTensor<Self> {
        AttendMerged::forward(qkv, rule).1
    }

    fn host_cross_entropy(
        logits: FloatTensor<Self>,
        targets: Vec<i64>,
        smoothing: f32,
    ) -> FloatTensor<Self> {
        CrossEntropy::forward(logits, targets, smoothing).1
    }
}

impl HostStep for Flex {
    fn host_adamw(
        parameter: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        first: FloatTensor<Self>,
        second: FloatTensor<Self>,
        with: Step,
    ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>) {
        rules::adamw(parameter, gradient, first, second, with)
    }

    fn host_sum_of_squares(x: FloatTensor<Self>) -> FloatTensor<Self> {
        rules::sum_of_squares(x)
    }
}

impl<C: CheckpointStrategy> HostOps for Autodiff<Flex, C> {
    fn host_layer_norm(
        x: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        epsilon: f32,
    ) -> FloatTensor<Self> {
        record::<C, _, 3>([x, weight, bias], |[x, weight, bias]| {
            LayerNorm::forward(x, weight, bias, epsilon)
        })
    }

    fn host_group_norm(
        x: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        groups: usize,
        epsilon: f32,
    ) -> FloatTensor<Self> {
        record::<C, _, 3>([x, weight, bias], |[x, weight, bias]| {
            GroupNorm::forward(x, weight, bias, groups, epsilon)
        })
    }

    fn host_gelu(x: FloatTensor<Self>) -> FloatTensor<Self> {
        record::<C, _, 1>([x], |[x]| Gelu::forward(x))
    }

    fn host_dropout(x: FloatTensor<Self>, keep: Keep) -> FloatTensor<Self> {
        record::<C, _, 1>([x], |[x]| Drop::forward(x, keep))
    }

    fn host_dropout_add(
        x: FloatTensor<Self>,
        residual: FloatTensor<Self>,
        keep: Keep,
    ) -> FloatTensor<Self> {
        record::<C, _, 2>([x, residual], |[x, residual]| {
            DropAdd::forward(x, residual, keep)
        })
    }

    fn host_linear(
        x: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        layout: WeightLayout,
    ) -> FloatTensor<Self> {
        record::<C, _, 3>([x, weight, bias], |[x, weight, bias]| {
            Linear::forward(x, weight, bias, layout)
        })
    }

    fn host_pointwise(
        x: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        record::<C, _, 3>([x, weight, bias], |[x, weight, bias]| {
            Pointwise::forward(x, weight, bias)
        })
    }

    fn host_convolve(
        x: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        rule: ConvRule,
    ) -> FloatTensor<Self> {
        record::<C, _, 3>([x, weight, bias], |[x, weight, bias]| {
            Convolve::forward(x, weight, bias, rule)
        })
    }

    fn host_attention(
        q: FloatTensor<Self>,
        k: FloatTensor<Self>,
        v: FloatTensor<Self>,
        rule: Rule,
    ) -> FloatTensor<Self> {
        record::<C, _, 3>([q, k, v], |[q, k, v]| Attend::forward(q, k, v, rule))
    }

    fn host_attention_merged(qkv: FloatTensor<Self>, rule: Rule) -> FloatTensor<Self> {
        record::<C, _, 1>([qkv], |[qkv]| AttendMerged::forward(qkv, rule))
    }

    fn host_cross_entropy(
        logits: FloatTensor<Self>,
        targets: Vec<i64>,
        smoothing: f32,
    ) -> FloatTensor<Self> {
        record::<C, _, 1>([logits], |[logits]| {
            CrossEntropy::forward(logits, targets, smoothing)
        })
    }
}
