//! Scale of the loss in half precision.
//!
//! Gradients below 6e-8 are zero in f16. The loss is multiplied by a power of
//! two before the backward pass and the gradients divided by it after; a step
//! that overflows is left out and halves it, many good ones double it.

use myxtts_ops::Compute;
use serde::{Deserialize, Serialize};

/// Good steps before a larger scale is tried.
const PATIENCE: u32 = 200;
const START: f64 = 65_536.0;
/// Above this even a loss of 1 overflows f32's headroom in sums of squares.
const LARGEST: f64 = 16_777_216.0;

/// What the loss is multiplied by.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LossScale {
    /// A power of two; `None` leaves the loss alone.
    factor: Option<f64>,
    good: u32,
}

impl LossScale {
    /// No scaling: the exponent of f32 and bf16 reaches as far as it must.
    pub fn off() -> Self {
        Self {
            factor: None,
            good: 0,
        }
    }

    /// What a precision needs.
    pub fn of(compute: Compute) -> Self {
        match compute {
            Compute::F16 => Self::dynamic(),
            Compute::F32 | Compute::Bf16 => Self::off(),
        }
    }

    /// This one where a run left off with `earlier`. A run that goes on in
    /// another precision starts with what that one needs.
    #[must_use]
    pub fn resumed(self, earlier: Self) -> Self {
        match (self.factor, earlier.factor) {
            (Some(_), Some(_)) => earlier,
            _ => self,
        }
    }

    /// Follows the gradients.
    pub fn dynamic() -> Self {
        Self {
            factor: Some(START),
            good: 0,
        }
    }

    /// What to multiply by.
    pub fn factor(&self) -> f64 {
        self.factor.unwrap_or(1.0)
    }

    /// Takes note of a step; `true` says to leave it out and go on with a
    /// smaller scale. At a scale of 1 there is nothing left to give, and a bad
    /// step is a bad step.
    pub fn overflowed(&mut self, loss: f32, norm: f32) -> bool {
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
