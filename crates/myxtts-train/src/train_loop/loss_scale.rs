//! The scale of the loss in half precision.
//!
//! Gradients below 6e-8 are zero in f16. The loss is multiplied by a power of two before the
//! backward pass, and the gradients are divided by it afterwards. A step that overflows is
//! skipped and halves the scale; many good ones double it.

use burn::tensor::{Bool, Device, Tensor};
use myxtts_ops::Compute;
use serde::{Deserialize, Serialize};

/// Good steps before a larger scale is tried.
const PATIENCE: u32 = 200;
const START: f64 = 65_536.0;
/// Above this even a loss of 1 overflows f32's headroom in sums of squares.
const LARGEST: f64 = 16_777_216.0;

/// The factor that the loss is multiplied by.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LossScale {
    /// A power of two; `None` leaves the loss alone.
    factor: Option<f64>,
    good: u32,
}

impl LossScale {
    /// Leaves the loss unscaled: the exponents of f32 and bf16 reach far enough.
    pub fn off() -> Self {
        Self {
            factor: None,
            good: 0,
        }
    }

    /// Returns the scale that a precision needs.
    pub fn of(compute: Compute) -> Self {
        match compute {
            Compute::F16 => Self::dynamic(),
            Compute::F32 | Compute::Bf16 => Self::off(),
        }
    }

    /// Resumes from the scale of an earlier run. A run that resumes in another precision starts
    /// with what that precision needs.
    #[must_use]
    pub(crate) fn resumed(self, earlier: Self) -> Self {
        match (self.factor, earlier.factor) {
            (Some(_), Some(_)) => earlier,
            _ => self,
        }
    }

    /// Starts a scale that follows the gradients.
    fn dynamic() -> Self {
        Self {
            factor: Some(START),
            good: 0,
        }
    }

    /// Returns the factor for the loss; 1 without scaling.
    pub fn factor(&self) -> f64 {
        self.factor.unwrap_or(1.0)
    }

    /// Records a step. `true` means that it must be skipped, and that the scale is now smaller.
    /// At a scale of 1 nothing is left to reduce, and a bad step is left to the other guards.
    pub(crate) fn overflowed(&mut self, loss: f32, norm: f32) -> bool {
        let Some(factor) = &mut self.factor else {
            return false;
        };
        if loss.is_finite() && norm.is_finite() {
            self.good += 1;
            if self.good >= PATIENCE {
                self.good = 0;
                *factor = (*factor * 2.0).min(LARGEST);
            }
            return false;
        }
        self.good = 0;
        let gives = *factor > 1.0;
        *factor = (*factor / 2.0).max(1.0);
        gives
    }
}

/// The factor of one step's loss.
#[derive(Clone, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "a handle, of which a step has one"
)]
pub enum LossFactor {
    /// Known to the host.
    Known(f64),
    /// Known to the device, which may have changed it in a step that the host has not read yet.
    OnDevice(Tensor<1>),
}

impl LossFactor {
    /// Returns a loss of a gradient graph, multiplied.
    pub(crate) fn of_loss(&self, loss_1: Tensor<1>) -> Tensor<1> {
        match self {
            Self::Known(factor) => loss_1 * *factor,
            Self::OnDevice(factor_1) => loss_1 * Tensor::from_inner(factor_1.clone()),
        }
    }
}

/// A [`LossScale`] that follows the gradients on the device, step by step as the host's does when
/// it reads them.
#[derive(Clone, Debug)]
pub(crate) struct DeviceLossScale {
    factor_1: Tensor<1>,
    good_1: Tensor<1>,
}

impl DeviceLossScale {
    /// Puts a scale on a device; `None` without one.
    pub(crate) fn of(scale: &LossScale, device: &Device) -> Option<Self> {
        let number = |x: f64| Tensor::from_data([x], device);
        scale.factor.map(|factor| Self {
            factor_1: number(factor),
            good_1: number(f64::from(scale.good)),
        })
    }

    pub(crate) fn factor(&self) -> LossFactor {
        LossFactor::OnDevice(self.factor_1.clone())
    }

    /// Records a step, as [`LossScale::overflowed`] does. Powers of two and small counts are exact.
    pub(crate) fn record(&mut self, is_finite_1: &Tensor<1, Bool>) {
        let good_1 = self.good_1.clone() + 1.0;
        let rises_1 = good_1.clone().greater_equal_elem(PATIENCE);
        let larger_1 = (self.factor_1.clone() * 2.0).clamp_max(LARGEST);
        let smaller_1 = (self.factor_1.clone() * 0.5).clamp_min(1.0);
        let after_good_1 = self.factor_1.clone().mask_where(rises_1.clone(), larger_1);
        self.factor_1 = smaller_1.mask_where(is_finite_1.clone(), after_good_1);
        self.good_1 = good_1
            .mask_fill(rises_1, 0.0)
            .mask_fill(is_finite_1.clone().bool_not(), 0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_device_scales_as_the_host_does() {
        let device = Device::flex();
        let mut host = LossScale::dynamic();
        let mut on_device = DeviceLossScale::of(&host, &device).unwrap();
        // Down to one and beyond, up to a doubling, down again, up as far as it goes.
        let bad = |step: u32| step < 20 || step == 20 + 2 * PATIENCE + 7;
        for step in 0..28 * PATIENCE {
            let norm = if bad(step) { f32::INFINITY } else { 1.0 };
            host.overflowed(1.0, norm);
            on_device.record(&Tensor::from_data([norm.is_finite()], &device));
            let LossFactor::OnDevice(factor_1) = on_device.factor() else {
                panic!("on the device");
            };
            let factor = f64::from(factor_1.into_scalar::<f32>());
            assert_eq!(factor, host.factor(), "step {step}");
        }
        assert_eq!(host.factor(), LARGEST);
        assert!(DeviceLossScale::of(&LossScale::off(), &device).is_none());
    }

    #[test]
    fn halves_on_overflow_and_doubles_after_many_good_steps() {
        let mut scale = LossScale::dynamic();
        assert!(scale.overflowed(1.0, f32::INFINITY));
        assert_eq!(scale.factor(), START / 2.0);
        for _ in 0..PATIENCE {
            assert!(!scale.overflowed(1.0, 1.0));
        }
        assert_eq!(scale.factor(), START);
    }

    #[test]
    fn a_resumed_run_keeps_the_scale_only_where_the_precision_has_one() {
        let mut earlier = LossScale::of(Compute::F16);
        assert!(earlier.overflowed(1.0, f32::INFINITY));
        assert_eq!(LossScale::of(Compute::F16).resumed(earlier), earlier);
        assert_eq!(LossScale::of(Compute::Bf16).resumed(earlier).factor(), 1.0);
        let unscaled = LossScale::of(Compute::F32);
        assert_eq!(LossScale::dynamic().resumed(unscaled).factor(), START);
    }

    #[test]
    fn ends_at_one_and_then_lets_the_guard_judge() {
        let mut scale = LossScale::dynamic();
        let halvings = (0..100).filter(|_| scale.overflowed(f32::NAN, 1.0)).count();
        assert_eq!(halvings, 16);
        assert_eq!(scale.factor(), 1.0);
        assert!(!LossScale::off().overflowed(f32::NAN, 1.0));
    }
}
