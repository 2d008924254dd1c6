//! Clips counted by text and audio length, and the search for shapes on that.

use super::bucket::{BucketShape, ClipLength};
use crate::units::{Codes, Tokens};

/// The most times that a search goes over the lattice. Eight shapes settle before
/// that; 64 go round once, and settling them would take five times as long for one
/// or two tenths of a percent of padding.
const WORK: usize = 4096;

/// The number of clips of each pair of lengths.
pub(super) struct Lattice {
    texts: Vec<u32>,
    audios: Vec<u32>,
    /// The counts, by text and then by audio.
    clips: Vec<u64>,
}

/// A shape by the positions of its edges.
pub(super) type Corner = [usize; 2];

impl Lattice {
    /// Counts clips by at most `edges` distinct lengths on each side. A shape ends
    /// at one of them, so a search costs the same for any number of clips.
    pub(super) fn of(clips: &[ClipLength], edges: usize) -> Self {
        let texts = quantiles(clips.iter().map(|clip| clip.text.0).collect(), edges);
        let audios = quantiles(clips.iter().map(|clip| clip.audio.0).collect(), edges);
        let mut lattice = Self {
            clips: vec![0; texts.len() * audios.len()],
            texts,
            audios,
        };
        for clip in clips {
            let [text, audio] = lattice.corner(clip.text, clip.audio);
            lattice.clips[text * lattice.audios.len() + audio] += 1;
        }
        lattice
    }

    /// Replaces one shape at a time by the best one beside the others, until none
    /// of them changes or `WORK` is done.
    pub(super) fn improve(&self, shapes: &[BucketShape]) -> Vec<BucketShape> {
        let mut corners: Vec<Corner> = shapes
            .iter()
            .map(|shape| self.corner(shape.text, shape.audio))
            .collect();
        let (mut at, mut unchanged, mut work) = (0, 0, 0);
        while unchanged < corners.len() && work < WORK {
            let now = corners.swap_remove(at);
            let best = self.best_beside(&corners, now);
            corners.push(best);
            let last = corners.len() - 1;
            corners.swap(at, last);
            unchanged = if best == now { unchanged + 1 } else { 0 };
            work += corners.len();
            at = (at + 1) % corners.len();
        }
        corners
            .into_iter()
            .map(|corner| self.shape(corner))
            .collect()
    }

    /// Returns the number of text lengths and of audio lengths.
    pub(super) fn sides(&self) -> [usize; 2] {
        [self.texts.len(), self.audios.len()]
    }

    /// Yields, for each length of text, the number of clips of each length of audio.
    pub(super) fn rows(&self) -> impl Iterator<Item = &[u64]> {
        self.clips.chunks(self.audios.len())
    }

    pub(super) fn shape(&self, [text, audio]: Corner) -> BucketShape {
        BucketShape {
            text: Tokens(self.texts[text]),
            audio: Codes(self.audios[audio]),
        }
    }

    /// Returns the corner that saves the most beside `others`, or `now` where none
    /// saves more.
    ///
    /// A clip saves the difference to the cheapest of the others that holds it.
    /// Clips held by the same other save the same, so a corner saves, for each
    /// other, a difference times the number of its clips below the corner.
    fn best_beside(&self, others: &[Corner], now: Corner) -> Corner {
        let width = self.audios.len();
        let held_by = self.cheapest(others);
        let mut saved = vec![0_u64; self.clips.len()];
        let mut below = vec![0_u64; width];
        // Clips that no other holds come last: a corner has to hold them all.
        for other in 0..=others.len() {
            let limit = others.get(other).map(|corner| self.cost(*corner));
            let limit = limit.unwrap_or(self.beyond());
            below.fill(0);
            let rows = self.clips.chunks(width).zip(held_by.chunks(width));
            let rows = rows.zip(saved.chunks_mut(width)).zip(&self.texts);
            for (((clips, held_by), saved), text) in rows {
                // Beyond the reach a corner costs no less than the other.
                let cheaper = |audio: &u32| u64::from(*text) + u64::from(*audio) < limit;
                let reach = self.audios.partition_point(cheaper);
                let mut row = 0;
                let cells = clips[..reach].iter().zip(held_by).zip(saved);
                for ((((clips, held_by), saved), below), audio) in
                    cells.zip(&mut below).zip(&self.audios)
                {
                    if *held_by == other {
                        row += clips;
                    }
                    *below += row;
                    *saved += *below * (limit - u64::from(*text) - u64::from(*audio));
                }
            }
        }
        let saves = |[text, audio]: Corner| saved[text * width + audio];
        let (mut best, mut most) = (now, saves(now));
        for (cell, saved) in saved.iter().enumerate() {
            if *saved > most {
                (best, most) = ([cell / width, cell % width], *saved);
            }
        }
        best
    }

    /// Returns, for each cell, the cheapest corner that holds it, or the number of
    /// corners where none does.
    fn cheapest(&self, corners: &[Corner]) -> Vec<usize> {
        let width = self.audios.len();
        let mut by_cost: Vec<usize> = (0..corners.len()).collect();
        by_cost.sort_by_key(|index| std::cmp::Reverse(self.cost(corners[*index])));
        let mut held_by = vec![corners.len(); self.clips.len()];
        for index in by_cost {
            let [text, audio] = corners[index];
            for row in held_by.chunks_mut(width).take(text + 1) {
                row[..=audio].fill(index);
            }
        }
        held_by
    }

    /// Returns more than all other savings together: leaving a clip out is never worth it.
    fn beyond(&self) -> u64 {
        let largest = [self.texts.len() - 1, self.audios.len() - 1];
        self.cost(largest) * (self.clips.iter().sum::<u64>() + 1)
    }

    pub(super) fn cost(&self, [text, audio]: Corner) -> u64 {
        u64::from(self.texts[text]) + u64::from(self.audios[audio])
    }

    /// Returns the smallest corner that holds these lengths if there is one, else
    /// the largest.
    fn corner(&self, text: Tokens, audio: Codes) -> Corner {
        let at = |edges: &[u32], value| {
            let position = edges.partition_point(|edge| *edge < value);
            position.min(edges.len() - 1)
        };
        [at(&self.texts, text.0), at(&self.audios, audio.0)]
    }
}

/// Returns the distinct values in order or, above `most` of them, that many
/// quantiles; the largest value is among them.
fn quantiles(mut values: Vec<u32>, most: usize) -> Vec<u32> {
    values.sort_unstable();
    let mut distinct = values.clone();
    distinct.dedup();
    if distinct.len() > most {
        let quantile = |part| values[values.len() * part / most - 1];
        distinct = (1..=most).map(quantile).collect();
        distinct.dedup();
    }
    distinct
}
