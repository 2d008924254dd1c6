//! Which checkpoints may be deleted.

use std::collections::BTreeSet;
use std::num::{NonZeroU64, NonZeroUsize};

use serde::{Deserialize, Serialize};

use crate::units::Step;

/// The rule by which checkpoints are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retention {
    /// How many of the newest checkpoints are kept.
    pub keep_last: NonZeroUsize,
    /// Checkpoints whose step is a multiple of this are kept too.
    pub keep_every: Option<NonZeroU64>,
}

impl Retention {
    /// Returns the steps to delete, oldest first. The newest, the multiples and
    /// those in `protected` are never among them.
    pub(crate) fn doomed(&self, steps: &BTreeSet<Step>, protected: &BTreeSet<Step>) -> Vec<Step> {
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
