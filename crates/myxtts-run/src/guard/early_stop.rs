//! When going on no longer helps.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::units::Step;

/// Ends a run when a number that should fall has not fallen for a while.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EarlyStop {
    patience: u64,
    #[serde(with = "crate::exact")]
    min_delta: f64,
    best: Option<(Step, crate::exact::Exact)>,
    since: u64,
}

/// What an evaluation means.
#[derive(Clone, Debug, PartialEq)]
pub enum Patience {
    /// The best so far.
    Improved,
    /// Not better; so many evaluations are left.
    Waiting {
        /// Evaluations left.
        left: u64,
    },
    /// Patience has run out.
    Exhausted {
        /// The step of the best value.
        best_step: Option<Step>,
        /// The best value.
        best: Option<f64>,
        /// Evaluations without one better.
        evaluations: u64,
    },
}

impl EarlyStop {
    /// Stops after `patience` evaluations in a row that are not better than
    /// the best by more than `min_delta`.
    pub fn new(patience: u64, min_delta: f64) -> Self {
        Self {
            patience,
            min_delta,
            best: None,
            since: 0,
        }
    }

    /// With another patience, and all it has seen.
    #[must_use]
    pub fn with_patience(self, patience: u64) -> Self {
        Self { patience, ..self }
    }

    /// The best value so far, and where.
    pub fn best(&self) -> Option<(Step, f64)> {
        self.best.map(|(step, value)| (step, value.0))
    }

    /// Takes the value of an evaluation; NaN is never better.
    pub fn observe(&mut self, step: Step, value: f64) -> Patience {
        let better = match self.best {
            None => !value.is_nan(),
            Some((_, best)) => value < best.0 - self.min_delta,
        };
        if better {
            self.best = Some((step, crate::exact::Exact(value)));
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
                    "validation did not improve; early stopping after {left} more like it"
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
                    "early stopping: no evaluation gave a number, {evaluations} tried"
                )
            }
        }
    }
}
