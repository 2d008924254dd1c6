//! Which clips are held out for validation, and which are used at all.
//!
//! A clip's fate hangs on its own name and the seed, not on its place in the
//! list: adding recordings tomorrow leaves today's validation set as it is but
//! for a clip or two, and the order of the metadata does not matter. Every
//! speaker with enough clips is heard in validation.

use std::collections::BTreeMap;

/// A speaker with fewer clips keeps them all for training.
const SMALLEST_SHARED: usize = 10;

/// What the split needs to know about a clip.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// The clip's name in the dataset; the same clip must have the same name tomorrow.
    pub name: &'a str,
    /// The speaker; clips without one share a nameless speaker.
    pub speaker: Option<&'a str>,
}

/// Returns for each clip whether it is held out: `fraction` of every speaker's
/// clips, at least one where the speaker has ten, and never more than `most` in
/// all.
pub fn held_out(clips: &[Candidate<'_>], fraction: f64, most: usize, seed: u64) -> Vec<bool> {
    let mut speakers: BTreeMap<Option<&str>, u32> = BTreeMap::new();
    let drawn: Vec<Drawn> = clips
        .iter()
        .map(|clip| {
            let next = u32::try_from(speakers.len()).unwrap_or(u32::MAX);
            let speaker = *speakers.entry(clip.speaker).or_insert(next);
            Drawn::new(clip.name, speaker, seed)
        })
        .collect();
    held_out_of(&drawn, fraction, most)
}

/// What the split keeps of each clip when a dataset is streamed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Drawn {
    speaker: u32,
    number: u64,
}

impl Drawn {
    /// Draws the number of a clip whose speaker has the given number.
    pub(crate) fn new(name: &str, speaker: u32, seed: u64) -> Self {
        Self {
            speaker,
            number: draw(seed, b"held out", name),
        }
    }
}

/// Does what [`held_out`] does, from what was kept of the clips.
pub(crate) fn held_out_of(drawn: &[Drawn], fraction: f64, most: usize) -> Vec<bool> {
    let mut speakers: BTreeMap<u32, Vec<(u64, usize)>> = BTreeMap::new();
    for (index, clip) in drawn.iter().enumerate() {
        speakers
            .entry(clip.speaker)
            .or_default()
            .push((clip.number, index));
    }
    // Taken by rank within the speaker, so that a bound on the whole thins
    // every speaker alike: all firsts before any second.
    let mut chosen: Vec<(usize, u64, usize)> = Vec::new();
    for clips in speakers.values_mut() {
        clips.sort_unstable();
        let wanted = share(clips.len(), fraction);
        let ranked = clips.iter().take(wanted).enumerate();
        chosen.extend(ranked.map(|(rank, (draw, index))| (rank, *draw, *index)));
    }
    chosen.sort_unstable();
    let mut held_out = vec![false; drawn.len()];
    for (_, _, index) in chosen.into_iter().take(most) {
        held_out[index] = true;
    }
    held_out
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "between 0 and the number of clips"
)]
fn share(clips: usize, fraction: f64) -> usize {
    if clips < SMALLEST_SHARED || fraction <= 0.0 {
        return 0;
    }
    let wanted = (clips as f64 * fraction.min(1.0)).round() as usize;
    wanted.clamp(1, clips - 1)
}

/// Draws a number for a name, a different one for each purpose.
fn draw(seed: u64, purpose: &[u8], name: &str) -> u64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&seed.to_le_bytes());
    hasher.update(&[u8::try_from(purpose.len()).unwrap_or(u8::MAX)]);
    hasher.update(purpose);
    hasher.update(name.as_bytes());
    let hash = hasher.finalize();
    hash.as_bytes()[..8]
        .iter()
        .fold(0, |number, byte| number << 8 | u64::from(*byte))
}
