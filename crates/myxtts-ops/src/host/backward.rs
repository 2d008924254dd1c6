//! What each operation keeps, and its backward pass.

use burn::backend::flex::FlexTensor;
use burn::tensor::Shape;

use super::WeightLayout;
use super::autodiff::SavedForBackward;
use super::tensor::{
    contiguous, elements, elements_mut, forward_strides, heads, shape, tensor, width,
};
use crate::kernel::adamw::{self, Step};
use crate::kernel::attention::{self, Heads, Rule, Seen};
use crate::kernel::dropout::Keep;
use crate::kernel::gemm::{self, Matrix};
use crate::kernel::norm::{self, Groups, Moments, NormGradients};
use crate::kernel::{elementwise, gelu, linear, loss};

fn norm_gradients(
    found: NormGradients,
    shape: Shape,
    wanted: [bool; 3],
) -> [Option<FlexTensor>; 3] {
    let channels = found.weight.len();
    [
        wanted[0].then(|| tensor(found.x, shape)),
        wanted[1].then(|| tensor(found.weight, [channels])),
        wanted[2].then(|| tensor(found.bias, [channels])),
    ]
}

#[derive(Clone, Debug)]
pub(super) struct LayerNorm {
    x: FlexTensor,
    weight: FlexTensor,
    moments: Moments,
}

impl LayerNorm {
    pub(super) fn forward(
        x: FlexTensor,
        weight: FlexTensor,
        bias: FlexTensor,
        epsilon: f32,
    ) -> (Self, FlexTensor) {
        let (x, weight, bias) = (contiguous(x), contiguous(weight), contiguous(bias));
        let (y, moments) =
            norm::layer_norm(elements(&x), elements(&weight), elements(&bias), epsilon);
        let y = tensor(y, shape(&x));
        (Self { x, weight, moments }, y)
    }
}

impl SavedForBackward<3> for LayerNorm {
    fn backward(self, gradient: FlexTensor, wanted: [bool; 3]) -> [Option<FlexTensor>; 3] {
        let gradient = contiguous(gradient);
        let found = norm::layer_norm_backward(
            elements(&self.x),
            elements(&self.weight),
            &self.moments,
            elements(&gradient),
        );
        norm_gradients(found, shape(&self.x), wanted)
    }
}

#[derive(Clone, Debug)]
pub(super) struct GroupNorm {
    x: FlexTensor,
    weight: FlexTensor,
    moments: Moments,
    groups: Groups,
}

impl GroupNorm {
    pub(super) fn forward(
        x: FlexTensor,
        weight: FlexTensor,
        bias: FlexTensor,
        groups: usize,
        epsilon: f32,
    ) -> (Self, FlexTensor) {
        let (x, weight, bias) = (contiguous(x), contiguous(weight), contiguous(bias));
        let groups = Groups {
            channels: elements(&weight).len(),
            groups,
            time: width(&x),
        };
        let (y, moments) = norm::group_norm(
            elements(&x),
            elements(&weight),
            elements(&bias),
            groups,
            epsilon,
        );
        let y = tensor(y, shape(&x));
        let kept = Self {
            x,
            weight,
            moments,
            groups,
        };
        (kept, y)
    }
}

impl SavedForBackward<3> for GroupNorm {
    fn backward(self, gradient: FlexTensor, wanted: [bool; 3]) -> [Option<FlexTensor>; 3] {
        let gradient = contiguous(gradient);
        let found = norm::group_norm_backward(
            elements(&self.x),
            elements(&self.weight),
            &self.moments,
            self.groups,
            elements(&gradient),
        );
        norm_gradients(found, shape(&self.x), wanted)
    }
}

#[derive(Clone, Debug)]
pub(super) struct Gelu {
    x: FlexTensor,
}

impl Gelu {
    pub(super) fn forward(x: FlexTensor) -> (Self, FlexTensor) {
        let x = contiguous(x);
        let y = tensor(elementwise::map(elements(&x), gelu::value), shape(&x));
        (Self { x }, y)
    }
}

impl SavedForBackward<1> for Gelu {
    fn backward(self, gradient: FlexTensor, _: [bool; 1]) -> [Option<FlexTensor>; 1] {
        let mut gradient = contiguous(gradient);
        elementwise::update(elements_mut(&mut gradient), elements(&self.x), |g, x| {
            g * gelu::slope(x)
        });
        [Some(gradient)]
    }
}

#[derive(Clone, Debug)]
pub(super) struct Drop {
    keep: Keep,
}

impl Drop {
    pub(super) fn forward(x: FlexTensor, keep: Keep) -> (Self, FlexTensor) {
        let mut x = contiguous(x);
        elementwise::drop(elements_mut(&mut x), keep);
        (Self { keep }, x)
    }
}

impl SavedForBackward<1> for Drop {
    fn backward(self, gradient: FlexTensor, _: [bool; 1]) -> [Option<FlexTensor>; 1] {
        [Some(Self::forward(gradient, self.keep).1)]
    }
}

#[derive(Clone, Debug)]
pub(super) struct DropAdd {
    keep: Keep,
}

impl DropAdd {
    pub(super) fn forward(x: FlexTensor, residual: FlexTensor, keep: Keep) -> (Self, FlexTensor) {
        // The sum is written over `x`, because others still read the residual.
        let (mut x, residual) = (contiguous(x), contiguous(residual));
        elementwise::drop_add(elements_mut(&mut x), elements(&residual), keep);
        (Self { keep }, x)
    }
}

impl SavedForBackward<2> for DropAdd {
    fn backward(self, gradient: FlexTensor, wanted: [bool; 2]) -> [Option<FlexTensor>; 2] {
        let gradient = contiguous(gradient);
        let through = wanted[0].then(|| {
            let left = elementwise::dropped(elements(&gradient), self.keep);
            tensor(left, shape(&gradient))
        });
        [through, wanted[1].then_some(gradient)]
    }
}

#[derive(Clone, Debug)]
pub(super) struct Linear {
    x: FlexTensor,
    weight: FlexTensor,
    layout: WeightLayout,
}

impl Linear {
    pub(super) fn forward(
        x: FlexTensor,
        weight: FlexTensor,
        bias: FlexTensor,
        layout: WeightLayout,
    ) -> (Self, FlexTensor) {
        let (x, weight, bias) = (contiguous(x), contiguous(weight), contiguous(bias));
        let kept = Self { x, weight, layout };
        let weight_io = kept.weight_io();
        let y = linear::linear(kept.rows(), weight_io, elements(&bias));
        let mut y_shape = shape(&kept.x).to_vec();
        if let Some(last) = y_shape.last_mut() {
            *last = weight_io.shape()[1];
        }
        let y = tensor(y, y_shape);
        (kept, y)
    }

    fn rows(&self) -> Matrix<'_> {
        Matrix::packed(elements(&self.x), width(&self.x))
    }

    fn weight_io(&self) -> Matrix<'_> {
        let weight = Matrix::packed(elements(&self.weight), width(&self.weight));
        match self.layout {
            WeightLayout::InOut => weight,
            WeightLayout::OutIn => weight.transposed(),
        }
    }
}

impl SavedForBackward<3> for Linear {
    fn backward(self, gradient: FlexTensor, wanted: [bool; 3]) -> [Option<FlexTensor>; 3] {
        let gradient = contiguous(gradient);
        let outputs = width(&gradient);
        let g_no = Matrix::packed(elements(&gradient), outputs);
        let dx = wanted[0].then(|| {
            let dx = gemm::product(g_no, self.weight_io().transposed());
            tensor(dx, shape(&self.x))
        });
        let dw = wanted[1].then(|| {
            let dw = match self.layout {
                WeightLayout::InOut => gemm::product(self.rows().transposed(), g_no),
                WeightLayout::OutIn => gemm::product(g_no.transposed(), self.rows()),
            };
            tensor(dw, shape(&self.weight))
        });
        let db =
            wanted[2].then(|| tensor(linear::column_sums(elements(&gradient), outputs), [outputs]));
        [dx, dw, db]
    }
}

#[derive(Clone, Debug)]
pub(super) struct Pointwise {
    x: FlexTensor,
    weight: FlexTensor,
}

impl Pointwise {
    pub(super) fn forward(
        x: FlexTensor,
        weight: FlexTensor,
        bias: FlexTensor,
    ) -> (Self, FlexTensor) {
        let (x, weight, bias) = (contiguous(x), contiguous(weight), contiguous(bias));
        let kept = Self { x, weight };
        let time = width(&kept.x);
        let y = linear::pointwise(elements(&kept.x), kept.weight_oi(), elements(&bias), time);
        let y = tensor(y, kept.shape_with(kept.weight_oi().shape()[0]));
        (kept, y)
    }

    fn weight_oi(&self) -> Matrix<'_> {
        // `(out, in)` and `(out, in, 1)` have the same elements.
        let inputs = shape(&self.weight).get(1).copied().unwrap_or(1);
        Matrix::packed(elements(&self.weight), inputs)
    }

    fn shape_with(&self, channels: usize) -> Vec<usize> {
        let mut shape = shape(&self.x).to_vec();
        if let Some(c) = shape.get_mut(1) {
            *c = channels;
        }
        shape
    }
}

impl SavedForBackward<3> for Pointwise {
    fn backward(self, gradient: FlexTensor, wanted: [bool; 3]) -> [Option<FlexTensor>; 3] {
        let gradient = contiguous(gradient);
        let (g, x) = (elements(&gradient), elements(&self.x));
        let (time, weight_oi) = (width(&self.x), self.weight_oi());
        let [outputs, inputs] = weight_oi.shape();
        let dx = wanted[0].then(|| {
            let dx = linear::pointwise(g, weight_oi.transposed(), &[], time);
            tensor(dx, shape(&self.x))
        });
        let dw = wanted[1].then(|| {
            let dw = linear::pointwise_weight_gradient(x, g, [outputs, inputs, time]);
            tensor(dw, shape(&self.weight))
        });
        let db = wanted[2].then(|| tensor(linear::channel_sums(g, outputs, time), [outputs]));
        [dx, dw, db]
    }
}

#[derive(Clone, Debug)]
pub(super) struct Attend {
    q: FlexTensor,
    k: FlexTensor,
    v: FlexTensor,
    out: FlexTensor,
    log_sums: Vec<f32>,
    rule: Rule,
}

impl Attend {
    pub(super) fn forward(
        q: FlexTensor,
        k: FlexTensor,
        v: FlexTensor,
        rule: Rule,
    ) -> (Self, FlexTensor) {
        let [q, k, v] = [q, k, v].map(forward_strides);
        let (out, log_sums) = attention::forward(heads(&q), heads(&k), heads(&v), &rule);
        let out = tensor(out, shape(&q));
        let kept = Self {
            q,
            k,
            v,
            out: out.clone(),
            log_sums,
            rule,
        };
        (kept, out)
    }
}

impl SavedForBackward<3> for Attend {
    fn backward(self, gradient: FlexTensor, wanted: [bool; 3]) -> [Option<FlexTensor>; 3] {
        let gradient = forward_strides(gradient);
        let seen = Seen {
            q: heads(&self.q),
            k: heads(&self.k),
            v: heads(&self.v),
            out: Heads::split(
                elements(&self.out),
                self.rule.shape,
                self.rule.shape.queries,
            ),
            log_sums: &self.log_sums,
        };
        let [dq, dk, dv] = attention::backward(seen, heads(&gradient), &self.rule);
        [
            wanted[0].then(|| tensor(dq, shape(&self.q))),
            wanted[1].then(|| tensor(dk, shape(&self.k))),
            wanted[2].then(|| tensor(dv, shape(&self.v))),
        ]
    }
}

#[derive(Clone, Debug)]
pub(super) struct AttendMerged {
    qkv: FlexTensor,
    out: FlexTensor,
    log_sums: Vec<f32>,
    rule: Rule,
}

impl AttendMerged {
    pub(super) fn forward(qkv: FlexTensor, rule: Rule) -> (Self, FlexTensor) {
        let qkv = contiguous(qkv);
        let [q, k, v] = Self::parts(&qkv, &rule);
        let (split, log_sums) = attention::forward(q, k, v, &rule);
        let merged = attention::merge(&[&split], rule.shape);
        let size = rule.shape;
        let out = tensor(
            merged,
            [size.batch, size.queries, size.heads * size.channels],
        );
        let kept = Self {
            qkv,
            out: out.clone(),
            log_sums,
            rule,
        };
        (kept, out)
    }

    fn parts<'a>(qkv: &'a FlexTensor, rule: &Rule) -> [Heads<'a>; 3] {
        [0, 1, 2].map(|part| Heads::merged(elements(qkv), rule.shape, part, 3))
    }
}

impl SavedForBackward<1> for AttendMerged {
    fn backward(self, gradient: FlexTensor, _: [bool; 1]) -> [Option<FlexTensor>; 1] {
        let gradient = contiguous(gradient);
        let [q, k, v] = Self::parts(&self.qkv, &self.rule);
        let seen = Seen {
            q,
            k,
            v,
            out: Heads::merged(elements(&self.out), self.rule.shape, 0, 1),
            log_sums: &self.log_sums,
        };
        let gradient = Heads::merged(elements(&gradient), self.rule.shape, 0, 1);
        let [dq, dk, dv] = attention::backward(seen, gradient, &self.rule);
        let merged = attention::merge(&[&dq, &dk, &dv], self.rule.shape);
        [Some(tensor(merged, shape(&self.qkv)))]
    }
}

#[derive(Clone, Debug)]
pub(super) struct CrossEntropy {
    logits: FlexTensor,
    targets: Vec<i64>,
    log_sums: Vec<f32>,
    smoothing: f32,
}

impl CrossEntropy {
    pub(super) fn forward(
        logits: FlexTensor,
        targets: Vec<i64>,
        smoothing: f32,
    ) -> (Self, FlexTensor) {
        let logits = contiguous(logits);
        let found = loss::cross_entropy(elements(&logits), &targets, smoothing);
        let kept = Self {
            logits,
            targets,
            log_sums: found.log_sums,
            smoothing,
        };
        (kept, tensor(vec![found.loss], [1]))
    }
}

impl SavedForBackward<1> for CrossEntropy {
    fn backward(mut self, gradient: FlexTensor, _: [bool; 1]) -> [Option<FlexTensor>; 1] {
        let gradient = elements(&contiguous(gradient)).iter().sum();
        loss::cross_entropy_backward(
            elements_mut(&mut self.logits),
            &self.targets,
            &self.log_sums,
            self.smoothing,
            gradient,
        );
        [Some(self.logits)]
    }
}

/// Takes one step of AdamW, in place where nobody else reads.
pub(super) fn adamw(
    parameter: FlexTensor,
    gradient: FlexTensor,
    first: FlexTensor,
    second: FlexTensor,
    with: Step,
) -> (FlexTensor, FlexTensor, FlexTensor) {
    let gradient = contiguous(gradient);
    let [mut parameter, mut first, mut second] = [parameter, first, second].map(contiguous);
    adamw::step(
        elements_mut(&mut parameter),
        elements(&gradient),
        elements_mut(&mut first),
        elements_mut(&mut second),
        with,
    );
    (parameter, first, second)
}

/// Returns the sum of squares of all elements.
pub(super) fn sum_of_squares(x: FlexTensor) -> FlexTensor {
    #[expect(clippy::cast_possible_truncation, reason = "back to the tensor's type")]
    let sum = adamw::sum_of_squares(elements(&contiguous(x))) as f32;
    tensor(vec![sum], [1])
}
