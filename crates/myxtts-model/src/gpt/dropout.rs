//! Where activations are dropped, and the key of each place.

use myxtts_ops::Dropout;

use crate::init::mix;

/// The dropout of one training step. Every place draws from a key of its own, and all keys follow
/// from the step's, so a resumed run drops the same.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepDropout {
    probability: f64,
    key: u64,
    first_row: usize,
}

/// A place in the model where activations are dropped.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Site {
    Embeddings,
    AttentionWeights(usize),
    AttentionOutput(usize),
    FeedForward(usize),
}

impl StepDropout {
    /// Makes the dropout of the step with this key.
    pub fn new(probability: f64, key: u64) -> Self {
        Self {
            probability,
            key,
            first_row: 0,
        }
    }

    /// Makes the dropout of a piece of the batch that begins with this row.
    #[must_use]
    pub fn from_row(self, first_row: usize) -> Self {
        Self { first_row, ..self }
    }

    pub(crate) fn at(&self, site: Site) -> Dropout {
        let place = match site {
            Site::Embeddings => 0,
            Site::AttentionWeights(layer) => 1 + 3 * layer,
            Site::AttentionOutput(layer) => 2 + 3 * layer,
            Site::FeedForward(layer) => 3 + 3 * layer,
        };
        Dropout {
            probability: self.probability,
            key: mix(self.key ^ mix(place as u64)),
            first_row: self.first_row,
        }
    }
}
