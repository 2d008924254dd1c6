//! Convolutions over time.

use burn::backend::flex::FlexTensor;

use super::autodiff::SavedForBackward;
use super::tensor::{contiguous, elements, shape, tensor};
use crate::kernel::conv_batch::{ConvRule, ConvSizes};
use crate::kernel::linear::channel_sums;

#[derive(Clone, Debug)]
pub(super) struct Convolve {
    x: FlexTensor,
    weight: FlexTensor,
    sizes: ConvSizes,
}

impl Convolve {
    pub(super) fn forward(
        x: FlexTensor,
        weight: FlexTensor,
        bias: FlexTensor,
        rule: ConvRule,
    ) -> (Self, FlexTensor) {
        let (x, weight, bias) = (contiguous(x), contiguous(weight), contiguous(bias));
        let size = |of: &FlexTensor, dim: usize| shape(of).get(dim).copied().unwrap_or(1);
        let sizes = ConvSizes {
            batch: size(&x, 0),
            inputs: size(&x, 1),
            outputs: size(&weight, 0),
            groups: size(&x, 1) / size(&weight, 1).max(1),
            taps: size(&weight, 2),
            time: size(&x, 2),
            rule,
        };
        let y = sizes.convolve(elements(&x), elements(&weight), elements(&bias));
        let y = tensor(y, [sizes.batch, sizes.outputs, sizes.heard()]);
        (Self { x, weight, sizes }, y)
    }
}

impl SavedForBackward<3> for Convolve {
    fn backward(self, gradient: FlexTensor, wanted: [bool; 3]) -> [Option<FlexTensor>; 3] {
        let gradient = contiguous(gradient);
        let (g, x, sizes) = (elements(&gradient), elements(&self.x), &self.sizes);
        let dx = wanted[0].then(|| {
            let dx = sizes.input_gradient(g, elements(&self.weight), x);
            tensor(dx, shape(&self.x))
        });
        let dw = wanted[1].then(|| tensor(sizes.weight_gradient(g, x), shape(&self.weight)));
        let (outputs, heard) = (sizes.outputs, sizes.heard());
        let db = wanted[2].then(|| tensor(channel_sums(g, outputs, heard), [outputs]));
        [dx, dw, db]
    }
}
