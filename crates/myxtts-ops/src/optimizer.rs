//! The arithmetic of the optimizer.

use burn::backend::Dispatch;
use burn::tensor::{Bool, Tensor};

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

/// A step of AdamW that only the device can decide: whether it is taken, and which step it is.
#[derive(Clone, Debug)]
pub struct Undecided {
    /// Whether the step is taken.
    pub applies_1: Tensor<1, Bool>,
    /// The learning rate, with the correction of the first moment.
    rate_1: Tensor<1>,
    /// The correction of the second moment.
    second_1: Tensor<1>,
}

impl Undecided {
    /// Makes a step that is number `with.step` if the step before it, which is undecided as well,
    /// `was_applied_1`, and one less if it was not. Both corrections are computed on the host, as
    /// those of a decided step are, so that they are the same bits.
    pub fn new(applies_1: Tensor<1, Bool>, was_applied_1: &Tensor<1, Bool>, with: &AdamW) -> Self {
        let device = applies_1.device();
        let before = AdamW {
            step: with.step.saturating_sub(1).max(1),
            ..*with
        };
        let [then, now] = [before.corrections(), with.corrections()];
        let chosen = |then: f64, now: f64| {
            Tensor::full([1], then, &device).mask_fill(was_applied_1.clone(), now)
        };
        Self {
            rate_1: chosen(with.learning_rate / then[0], with.learning_rate / now[0]),
            second_1: chosen(then[1], now[1]),
            applies_1,
        }
    }
}

/// Takes the step of [`adamw_step`] if it applies; otherwise everything stays to the bit. Values are
/// selected and not multiplied by zero, so that nothing of a gradient that is not a number is left.
pub fn adamw_step_if(
    parameter_n: Tensor<1>,
    gradient_n: Tensor<1>,
    moments: Moments<1>,
    with: &AdamW,
    undecided: &Undecided,
) -> (Tensor<1>, Moments<1>) {
    let [beta1, beta2] = with.betas;
    let Undecided {
        applies_1,
        rate_1,
        second_1,
    } = undecided;
    let Moments { first, second } = moments;
    let gradient_n = gradient_n * with.gradient_scale;
    let new_first_n = first.clone() * beta1 + gradient_n.clone() * (1.0 - beta1);
    let new_second_n = second.clone() * beta2 + gradient_n.square() * (1.0 - beta2);
    let step_n = new_first_n.clone() * rate_1.clone()
        / ((new_second_n.clone() / second_1.clone()).sqrt() + with.epsilon);
    let new_n = parameter_n.clone() * (1.0 - with.learning_rate * with.weight_decay) - step_n;
    let choose = |old_n: Tensor<1>, new_n: Tensor<1>| old_n.mask_where(applies_1.clone(), new_n);
    let moments = Moments {
        first: choose(first, new_first_n),
        second: choose(second, new_second_n),
    };
    (choose(parameter_n, new_n), moments)
}

/// Returns the sum of the squares of all elements, for a norm over many tensors.
pub fn sum_of_squares<const D: usize>(x: Tensor<D>) -> Tensor<1> {
    if !host::takes(&x) {
        return reference::sum_of_squares(x);
    }
    Tensor::from_dispatch(Dispatch::host_sum_of_squares(x.into_dispatch()))
}
