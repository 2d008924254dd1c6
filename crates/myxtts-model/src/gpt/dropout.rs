//! Where activations are dropped, and the key of each place.

use burn::tensor::Tensor;
use myxtts_ops::{Dropout, dropout};

use crate::init::mix;

/// The dropout of one training step; every place draws from its own key, and
/// all keys follow from the step's, so a resumed run drops the same.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepDropout {
    probability: f64,
    /// Share of codes that are hidden whole.
    hidden: f64,
    key: u64,
}

/// A place in the model.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Site {
    Codes,
    Embeddings,
    AttentionWeights(usize),
    AttentionOutput(usize),
    FeedForward(usize),
}

impl StepDropout {
    /// For the step with this key.
    pub fn new(probability: f64, key: u64) -> Self {
        Self {
            probability,
            hidden: 0.0,
            key,
        }
    }

    /// Besides, this share of the codes is hidden from the model.
    ///
    /// Codes that were heard predict the next better than the text does, so a
    /// model with few clips learns their order by heart and reads no further;
    /// one that misses some of them has to read.
    pub fn hiding_codes(self, share: f64) -> Self {
        Self {
            hidden: share,
            ..self
        }
    }

    /// Embedded codes, the hidden ones as zeros.
    pub(crate) fn hide_codes(&self, codes_bmd: Tensor<3>) -> Tensor<3> {
        if self.hidden == 0.0 {
            return codes_bmd;
        }
        let [rows, codes, _] = codes_bmd.dims();
        let ones_bm1 = Tensor::ones([rows, codes, 1], &codes_bmd.device());
        let drop = Dropout {
            probability: self.hidden,
            ..self.at(Site::Codes)
        };
        // A code that is shown is shown as it is, unlike an activation that is kept.
        codes_bmd * (dropout(ones_bm1, &drop) * (1.0 - self.hidden))
    }

    pub(crate) fn at(&self, site: Site) -> Dropout {
        let place = match site {
            Site::Codes => usize::MAX,
            Site::Embeddings => 0,
            Site::AttentionWeights(layer) => 1 + 3 * layer,
            Site::AttentionOutput(layer) => 2 + 3 * layer,
            Site::FeedForward(layer) => 3 + 3 * layer,
        };
        Dropout {
            probability: self.probability,
            key: mix(self.key ^ mix(place as u64)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::tensor::Device;

    #[test]
    fn codes_are_hidden_whole_or_not_at_all() {
        let codes_bmd = Tensor::<3>::full([2, 500, 3], 1.5, &Device::flex());
        let hide = |share, key| {
            let drop = StepDropout::new(0.5, key).hiding_codes(share);
            let hidden_bmd = drop.hide_codes(codes_bmd.clone());
            hidden_bmd.try_into_vec_as::<f32>().unwrap()
        };
        let hidden = hide(0.25, 7);
        let vectors = hidden.chunks(3);
        let zeros = vectors.filter(|vector| **vector == [0.0; 3]).count();
        let whole = hidden.chunks(3).filter(|vector| **vector == [1.5; 3]);
        assert_eq!(zeros + whole.count(), 1000);
        assert!((200..300).contains(&zeros), "{zeros} of 1000");
        assert_eq!(hidden, hide(0.25, 7));
        assert_ne!(hidden, hide(0.25, 8));
        assert_eq!(hide(0.0, 7), vec![1.5; 3000]);
    }
}
