//! The arithmetic of the optimizer.

use burn::backend::Dispatch;
use burn::tensor::Tensor;

use crate::host::{self, HostStep};
use crate::kernel::adamw::Step;
use crate::reference;

/// The settings of one step of AdamW.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdamW {
    /// The learning rate of this step.
    pub learning_rate: f64,
    /// The decay of the first and of the second moment.
    pub betas: [f64; 2],
    /// Added to the root of the second moment.
    pub epsilon: f64,
    /// The share of the parameter taken away per step, times the learning rate.
    pub weight_decay: f64,
    /// The factor that the gradient is multiplied with first, so that clipping costs no extra
    /// pass.
    pub gradient_scale: f64,
    /// The number of this step, from 1.
    pub step: u64,
}

/// The two moments of a parameter.
#[derive(Clone, Debug)]
pub struct Moments<const D: usize> {
    /// The running mean of the gradient.
    pub first: Tensor<D>,
    /// The running mean of the squared gradient.
    pub second: Tensor<D>,
}

impl<const D: usize> Moments<D> {
    /// Returns zeros, as before the first step, in the shape of a parameter.
    pub fn zeros_like(parameter: &Tensor<D>) -> Self {
        Self {
            first: parameter.zeros_like(),
            second: parameter.zeros_like(),
        }
    }
}

impl AdamW {
    /// Returns `1 - beta^step` of both moments.
    pub(crate) fn corrections(&self) -> [f64; 2] {
        // After this many steps every correction is 1.
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

/// Takes one step of AdamW. The tensors are outside the gradient graph; those that nobody else
/// holds are changed in place.
pub fn adamw_step<const D: usize>(
    parameter: Tensor<D>,
    gradient: Tensor<D>,
    moments: Moments<D>,
    with: &AdamW,
) -> (Tensor<D>, Moments<D>) {
    if !host::takes(&parameter) || gradient.dtype() != parameter.dtype() {
        return reference::adamw_step(parameter, gradient, moments, with);
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

/// Returns the sum of the squares of all elements, for a norm over many tensors.
pub fn sum_of_squares<const D: usize>(x: Tensor<D>) -> Tensor<1> {
    if !host::takes(&x) {
        return reference::sum_of_squares(x);
    }
    Tensor::from_dispatch(Dispatch::host_sum_of_squares(x.into_dispatch()))
}
