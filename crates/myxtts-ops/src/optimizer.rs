//! The optimiser's arithmetic.

use burn::backend::Dispatch;
use burn::tensor::Tensor;

use crate::host::{self, HostStep};
use crate::kernel::adamw::Step;
use crate::plain;

/// What a step of AdamW is made with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdamW {
    /// Step size.
    pub learning_rate: f64,
    /// Memory of the first and the second moment.
    pub betas: [f64; 2],
    /// Added to the root of the second moment.
    pub epsilon: f64,
    /// Share of the parameter taken away per step, times the learning rate.
    pub weight_decay: f64,
    /// What the gradient is multiplied with first: clipping costs no pass of its own.
    pub gradient_scale: f64,
    /// Number of this step, from 1.
    pub step: u64,
}

/// A parameter's moments.
#[derive(Clone, Debug)]
pub struct Moments<const D: usize> {
    /// Running mean of the gradient.
    pub first: Tensor<D>,
    /// Running mean of its square.
    pub second: Tensor<D>,
}

impl<const D: usize> Moments<D> {
    /// Before the first step, for a parameter like this one.
    pub fn zeros_like(parameter: &Tensor<D>) -> Self {
        Self {
            first: parameter.zeros_like(),
            second: parameter.zeros_like(),
        }
    }
}

impl AdamW {
    /// `1 - beta^step` of both moments.
    pub(crate) fn corrections(&self) -> [f64; 2] {
        // Past this many steps every correction is 1.
        let step = i32::try_from(self.step).unwrap_or(i32::MAX);
        self.betas.map(|beta| 1.0 - beta.powi(step))
    }

    #[expect(clippy::cast_possible_truncation, reason = "parameters are f32")]
    fn folded(&self) -> Step {
        let [first, second] = self.corrections();
        Step {
            beta1: self.betas[0] as f32,
            beta2: self.betas[1] as f32,
            epsilon: self.epsilon as f32,
            rate: (self.learning_rate / first) as f32,
            keep: (1.0 - self.learning_rate * self.weight_decay) as f32,
            second: (1.0 / second.sqrt()) as f32,
            gradient: self.gradient_scale as f32,
        }
    }
}

/// One step of AdamW. The tensors are outside the gradient graph; those that
/// nobody else holds are changed where they lie.
pub fn adamw_step<const D: usize>(
    parameter: Tensor<D>,
    gradient: Tensor<D>,
    moments: Moments<D>,
    with: &AdamW,
) -> (Tensor<D>, Moments<D>) {
    if !host::takes(&parameter) || gradient.dtype() != parameter.dtype() {
        return plain::adamw_step(parameter, gradient, moments, with);
    }
    let (parameter, first, second) = Dispatch::host_adamw(
        parameter.into_dispatch(),
        gradient.into_dispatch(),
        moments.first.into_dispatch(),
        moments.second.into_dispatch(),
        with.folded(),
    );
    let moments = Moments {
        first: Tensor::from_dispatch(first),
        second: Tensor::from_dispatch(second),
    };
    (Tensor::from_dispatch(parameter), moments)
}

/// The sum of the squares of all elements, for a norm over many tensors.
pub fn sum_of_squares<const D: usize>(x: Tensor<D>) -> Tensor<1> {
    if !host::takes(&x) {
        return plain::sum_of_squares(x);
    }
    Tensor::from_dispatch(Dispatch::host_sum_of_squares(x.into_dispatch()))
}
