//! Steps that the device decides on.
//!
//! Whether a step's loss and gradient are numbers is known on the device first. A step may be
//! queued before the host knows: the device then keeps the old values if it is a bad one, and the
//! host counts it as taken until it is told otherwise. The step after it, queued meanwhile, needs to
//! know which number it is, so both answers are prepared and the device takes the right one.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use burn::tensor::{Bool, Tensor};
use myxtts_ops::Undecided;

/// Whether a step is taken, as the device will find out.
#[derive(Clone, Debug)]
pub(crate) struct Condition {
    /// Whether the step is taken.
    pub(crate) applies_1: Tensor<1, Bool>,
    /// The number of the step in its stage, which counts steps that are not taken as well.
    pub(crate) number: u64,
}

/// A step of which the host does not know yet whether it was taken.
#[derive(Clone, Debug)]
pub(super) struct Attempt {
    applied_1: Tensor<1, Bool>,
    /// The parameters that it is a step of.
    names: BTreeSet<String>,
}

/// Steps that are queued and not yet known to be taken, the oldest first.
pub(super) type Unsettled = VecDeque<Attempt>;

impl Attempt {
    pub(super) fn into_names(self) -> BTreeSet<String> {
        self.names
    }
}

/// One conditional step, while its parameters are walked through.
pub(super) struct Attempting {
    pub(super) condition: Condition,
    before: Option<Attempt>,
    /// For parameters whose last step is known to be taken.
    known_1: Tensor<1, Bool>,
    names: BTreeSet<String>,
    /// Corrections by step and by whether the step before is known; parameters share them.
    undecided: BTreeMap<(u64, bool), Undecided>,
}

impl Attempting {
    pub(super) fn new(condition: Condition, unsettled: &Unsettled) -> Self {
        let device = condition.applies_1.device();
        Self {
            known_1: Tensor::from_data([true], &device),
            condition,
            before: unsettled.back().cloned(),
            names: BTreeSet::new(),
            undecided: BTreeMap::new(),
        }
    }

    /// Counts a parameter in, and returns what the device decides about its step.
    pub(super) fn undecided(&mut self, name: &str, with: &myxtts_ops::AdamW) -> Undecided {
        let before = self.before.as_ref();
        let before = before.filter(|attempt| attempt.names.contains(name));
        self.names.insert(name.to_owned());
        let applies_1 = &self.condition.applies_1;
        let was_applied_1 = before.map_or(&self.known_1, |attempt| &attempt.applied_1);
        let prepare = || Undecided::new(applies_1.clone(), was_applied_1, with);
        let key = (with.step, before.is_none());
        self.undecided.entry(key).or_insert_with(prepare).clone()
    }

    pub(super) fn finish(self) -> Attempt {
        Attempt {
            applied_1: self.condition.applies_1,
            names: self.names,
        }
    }
}
