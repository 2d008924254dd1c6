//! Which other clip lends its voice to a clip.
//!
//! A segment of the clip that is to be spoken gives part of the answer away: a
//! model of few recordings learns to recognise the sentence by it instead of
//! reading. A model that speaks hears its voice from another recording, so training
//! can give it one too.

use std::collections::BTreeMap;

use super::ClipIndex;
use super::permutation::key;

const COMPANION: u64 = 5;

/// Clips grouped by their speakers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Companions {
    /// The clips of each speaker, in the order of the manifest.
    speakers: Vec<Vec<ClipIndex>>,
    /// Each clip's speaker and its place among the speaker's clips.
    places: Vec<(usize, usize)>,
}

impl Companions {
    /// Groups clips by their speakers. Clips without one share a nameless speaker,
    /// as they do where some are held out.
    pub fn of<'a>(clips: impl IntoIterator<Item = Option<&'a str>>) -> Self {
        let mut known: BTreeMap<Option<&str>, usize> = BTreeMap::new();
        let mut companions = Self::default();
        for (clip, speaker) in (0..).zip(clips) {
            let next = companions.speakers.len();
            let speaker = *known.entry(speaker).or_insert(next);
            if speaker == next {
                companions.speakers.push(vec![]);
            }
            let clips = &mut companions.speakers[speaker];
            companions.places.push((speaker, clips.len()));
            clips.push(ClipIndex(clip));
        }
        companions
    }

    /// Returns whether the speaker of a clip has another one.
    pub fn has(&self, clip: ClipIndex) -> bool {
        self.others(clip).is_some()
    }

    /// Yields the companion of a clip in an epoch, a pure function of the
    /// arguments, and then the speaker's other clips, for whoever cannot use it.
    pub fn drawn(
        &self,
        clip: ClipIndex,
        seed: u64,
        epoch: u64,
    ) -> impl Iterator<Item = ClipIndex> + '_ {
        let random = key(&[seed, epoch, COMPANION, u64::from(clip.0)]);
        self.from(clip, move |others| {
            // The high half of the product is below `others`.
            usize::try_from((u128::from(random) * others as u128) >> 64).unwrap_or(0)
        })
    }

    /// Yields the same companions in every epoch, as validation wants them, from
    /// the speaker's next clip on.
    pub fn fixed(&self, clip: ClipIndex) -> impl Iterator<Item = ClipIndex> + '_ {
        self.from(clip, |_| 0)
    }

    /// Yields the other clips of the speaker in a circle, starting at the one that
    /// `first` chooses given their number.
    fn from(
        &self,
        clip: ClipIndex,
        first: impl FnOnce(usize) -> usize,
    ) -> impl Iterator<Item = ClipIndex> + '_ {
        let found = self.others(clip).map(|(clips, place)| {
            let others = clips.len() - 1;
            let first = first(others);
            (0..others).map(move |step| clips[(place + 1 + (first + step) % others) % clips.len()])
        });
        found.into_iter().flatten()
    }

    /// Returns the clips of a clip's speaker and its own place among them, if there
    /// are others.
    fn others(&self, clip: ClipIndex) -> Option<(&[ClipIndex], usize)> {
        let (speaker, place) = *self.places.get(clip.0 as usize)?;
        let clips = self.speakers.get(speaker)?;
        (clips.len() > 1).then_some((clips, place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three_speakers() -> Companions {
        Companions::of([
            Some("a"),
            Some("b"),
            Some("a"),
            None,
            Some("a"),
            None,
            Some("c"),
        ])
    }

    fn numbers(clips: impl Iterator<Item = ClipIndex>) -> Vec<u32> {
        clips.map(|clip| clip.0).collect()
    }

    #[test]
    fn a_companion_is_another_clip_of_the_speaker() {
        let companions = three_speakers();
        let of: [&[u32]; 7] = [&[2, 4], &[], &[0, 4], &[5], &[0, 2], &[3], &[]];
        for (clip, others) in (0..).zip(of) {
            let clip = ClipIndex(clip);
            assert_eq!(companions.has(clip), !others.is_empty());
            for epoch in 0..20 {
                let mut found = numbers(companions.drawn(clip, 7, epoch));
                assert_eq!(found, numbers(companions.drawn(clip, 7, epoch)));
                found.sort_unstable();
                assert_eq!(found, others, "each once, and never itself");
            }
        }
        assert_eq!(numbers(companions.fixed(ClipIndex(0))), [2, 4]);
        assert_eq!(numbers(companions.fixed(ClipIndex(4))), [0, 2]);
        assert!(!companions.has(ClipIndex(7)), "there is no such clip");
    }

    #[test]
    fn all_of_them_are_drawn_alike() {
        let companions = Companions::of([None; 5]);
        let mut counts = [0_u32; 5];
        for epoch in 0..4000 {
            let first = companions.drawn(ClipIndex(2), 1, epoch).next().unwrap();
            counts[first.0 as usize] += 1;
        }
        assert_eq!(counts[2], 0);
        let others = counts.iter().filter(|count| **count > 0);
        assert!(
            others.clone().count() == 4 && others.clone().all(|n| (900..1100).contains(n)),
            "{counts:?}"
        );
    }
}
