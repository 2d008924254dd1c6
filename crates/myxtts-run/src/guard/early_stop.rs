//! Stopping when more training no longer helps.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::units::Step;

/// Ends a run when a number that should fall has not fallen for a while.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EarlyStop {
    patience: u64,
    #[serde(with = "crate::exact_float")]
    min_delta: f64,
    best: Option<(Step, crate::exact_float::Exact)>,
    since: u64,
}

/// The outcome of one evaluation.
#[derive(Clone, Debug, PartialEq)]
pub enum Patience {
    /// The value is the best so far.
    Improved,
    /// The value is not better, and there is patience left.
    Waiting {
        /// Evaluations without improvement that are left before the run stops.
        left: u64,
    },
    /// Patience has run out.
    Exhausted {
        /// The step of the best value, or `None` when every value was NaN.
        best_step: Option<Step>,
        /// The best value, or `None` when every value was NaN.
        best: Option<f64>,
        /// Consecutive evaluations without an improvement.
        evaluations: u64,
    },
}

impl EarlyStop {
    /// Makes a guard that stops after `patience` evaluations in a row that do not
    /// improve on the best by more than `min_delta`.
    pub fn new(patience: u64, min_delta: f64) -> Self {
        Self {
            patience,
            min_delta,
            best: None,
            since: 0,
        }
    }

    /// Changes the patience and keeps what was seen.
    #[must_use]
    pub fn with_patience(self, patience: u64) -> Self {
        Self { patience, ..self }
    }

    /// Returns the best value so far and its step.
    pub fn best(&self) -> Option<(Step, f64)> {
        self.best.map(|(step, value)| (step, value.0))
    }

    /// Takes the value of an evaluation; NaN never counts as better.
    pub fn observe(&mut self, step: Step, value: f64) -> Patience {
        let better = match self.best {
            None => !value.is_nan(),
            Some((_, best)) => value < best.0 - self.min_delta,
        };
        if better {
            self.best = Some((step, crate::exact_float::Exact(value)));
            self.since = 0;
            return Patience::Improved;
        }
        self.since += 1;
        if self.since < self.patience {
            return Patience::Waiting {
                left: self.patience - self.since,
            };
        }
        Patience::Exhausted {
            best_step: self.best.map(|(step, _)| step),
            best: self.best.map(|(_, value)| value.0),
            evaluations: self.since,
        }
    }
}

impl fmt::Display for Patience {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Improved => write!(f, "best validation so far"),
            Self::Waiting { left } => {
                write!(
                    f,
                    "validation did not improve; early stopping after {left} more without improvement"
                )
            }
            Self::Exhausted {
                best_step: Some(step),
                best: Some(best),
                evaluations,
            } => write!(
                f,
                "early stopping: {evaluations} evaluations without improvement on {best:.4} at step {step}"
            ),
            Self::Exhausted { evaluations, .. } => {
                write!(
                    f,
                    "early stopping: no evaluation gave a number ({evaluations} tried)"
                )
            }
        }
    }
}
