//! Where in a recording a clip begins.
//!
//! A code stands for 1,024 samples, so a recording that begins a little later
//! becomes other codes that say the same. A model of few recordings learns by heart
//! the codes they happened to become, unless they begin at several places.

use myxtts_audio::units::Samples;
use serde::{Deserialize, Serialize};

use super::ClipIndex;
use super::permutation::key;
use crate::units::Codes;

const BEGINNING: u64 = 6;

/// The number of places, within the first code, where a clip may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Beginnings(pub u32);

impl Beginnings {
    /// Every clip begins at its first sample.
    pub const ONE: Self = Self(1);

    /// Draws the first sample of a clip in an epoch, as a pure function of the
    /// arguments. A recording of a few codes is left whole.
    pub fn drawn(self, clip: ClipIndex, length: Samples, seed: u64, epoch: u64) -> Samples {
        let code = Codes(1).samples().0;
        if self.0 <= 1 || length.0 < 8 * code {
            return Samples(0);
        }
        let places = u128::from(self.0);
        let random = key(&[seed, epoch, BEGINNING, u64::from(clip.0)]);
        // The high half of the product is below `places`.
        let place = usize::try_from((u128::from(random) * places) >> 64).unwrap_or(0);
        Samples(place * code / self.0 as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_drawn_alike() {
        let mut counts = std::collections::BTreeMap::new();
        for epoch in 0..4000 {
            let begin = Beginnings(4).drawn(ClipIndex(3), Samples(50_000), 1, epoch);
            assert_eq!(
                begin,
                Beginnings(4).drawn(ClipIndex(3), Samples(50_000), 1, epoch)
            );
            *counts.entry(begin.0).or_insert(0_u32) += 1;
        }
        assert_eq!(
            counts.keys().copied().collect::<Vec<_>>(),
            [0, 256, 512, 768]
        );
        assert!(
            counts.values().all(|n| (900..1100).contains(n)),
            "{counts:?}"
        );
    }

    #[test]
    fn one_place_and_short_clips_begin_at_the_beginning() {
        for epoch in 0..50 {
            let one = Beginnings::ONE.drawn(ClipIndex(0), Samples(50_000), 1, epoch);
            let short = Beginnings(4).drawn(ClipIndex(0), Samples(8000), 1, epoch);
            assert_eq!((one, short), (Samples(0), Samples(0)));
        }
    }
}
