//! Which checkpoints may go.

use std::collections::BTreeSet;
use std::num::{NonZeroU64, NonZeroUsize};

use serde::{Deserialize, Serialize};

use crate::units::Step;

/// How many checkpoints stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retention {
    /// The newest so many stay.
    pub keep_last: NonZeroUsize,
    /// Those whose step is a multiple of this stay too.
    pub keep_every: Option<NonZeroU64>,
}

impl Retention {
    /// The steps to delete, oldest first: never one of the newest, of the
    /// multiples or of `protected`.
    pub fn doomed(&self, steps: &BTreeSet<Step>, protected: &BTreeSet<Step>) -> Vec<Step> {
        let old = steps.len().saturating_sub(self.keep_last.get());
        let kept = |step: &Step| {
            protected.contains(step)
                || self
                    .keep_every
                    .is_some_and(|every| step.0.is_multiple_of(every.get()))
        };
        steps
            .iter()
            .take(old)
            .copied()
            .filter(|step| !kept(step))
            .collect()
    }
}
