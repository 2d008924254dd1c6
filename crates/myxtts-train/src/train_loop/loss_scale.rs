//! The scale of the loss in half precision.
//!
//! Gradients below 6e-8 are zero in f16. The loss is multiplied by a power of two before the
//! backward pass, and the gradients are divided by it afterwards. A step that overflows is
//! skipped and halves the scale; many good ones double it.

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

#[cfg(test)]
mod tests {
    use super::*;

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
