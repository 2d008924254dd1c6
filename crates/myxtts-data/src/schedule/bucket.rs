//! Length buckets: a small closed set of shapes chosen from the data.
//!
//! A clip costs text tokens plus audio codes, and goes to the cheapest shape
//! that holds it. Speakers differ in speed, so clips of one audio length have
//! texts of many lengths, and shapes that only follow audio pad the text of
//! most clips. The search therefore moves in both lengths: it starts from the
//! best chain of shapes inside each other, and from the best cuts of the clips
//! sorted by audio, and replaces one shape after another by the best one given the
//! others. Padding costs more than loading: one static shape for all wastes half of
//! the compute.

use serde::{Deserialize, Serialize};

use super::cuts::cut;
use super::lattice::Lattice;
use super::nested::best_chain;
use crate::units::{Codes, Tokens};

/// The true length of a clip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClipLength {
    /// The length of the text.
    pub text: Tokens,
    /// The length of the audio.
    pub audio: Codes,
}

/// A shape that batches are padded to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BucketShape {
    /// The longest text that fits.
    pub text: Tokens,
    /// The longest audio that fits.
    pub audio: Codes,
}

impl BucketShape {
    /// Returns the padded positions of one row.
    pub fn cost(&self) -> u64 {
        u64::from(self.text.0) + u64::from(self.audio.0)
    }

    pub(super) fn holds(&self, clip: ClipLength) -> bool {
        clip.text <= self.text && clip.audio <= self.audio
    }
}

impl ClipLength {
    pub(super) fn cost(self) -> u64 {
        u64::from(self.text.0) + u64::from(self.audio.0)
    }
}

/// The number of distinct lengths on which shapes are improved (`FINE`) and on
/// which the search starts (`COARSE`): its time grows with their square and their
/// fourth power.
const FINE: usize = 128;
const COARSE: usize = 48;

/// Searches for the shapes with the least padding for `clips`, at most `count` of
/// them, shortest audio first.
pub fn choose_buckets(clips: &[ClipLength], count: usize) -> Vec<BucketShape> {
    if clips.is_empty() || count == 0 {
        return vec![];
    }
    let fine = Lattice::of(clips, FINE);
    let chain = best_chain(&Lattice::of(clips, COARSE), count);
    let mut sorted = clips.to_vec();
    sorted.sort_unstable_by_key(|clip| (clip.audio, clip.text));
    let cuts = cut(&sorted, count);
    // A lattice may be coarser than the clips, so the cuts are also tried as they are.
    let tried = [fine.improve(&chain), fine.improve(&cuts), cuts];
    let best = tried.map(|shapes| shrink(clips, &shapes)).into_iter();
    let best = best.min_by_key(|(cost, _)| *cost);
    let mut shapes = best.map_or(vec![], |(_, shapes)| shapes);
    shapes.sort_by_key(|shape| (shape.audio, shape.text));
    shapes
}

/// Makes each shape as small as the clips that go to it allow and leaves out shapes
/// without clips; also returns what the clips cost in them.
fn shrink(clips: &[ClipLength], shapes: &[BucketShape]) -> (u64, Vec<BucketShape>) {
    let mut least: Vec<Option<(BucketShape, u64)>> = vec![None; shapes.len()];
    for clip in clips {
        if let Some(bucket) = bucket_of(shapes, *clip) {
            let (shape, count) = least[bucket].get_or_insert_default();
            shape.text = shape.text.max(clip.text);
            shape.audio = shape.audio.max(clip.audio);
            *count += 1;
        }
    }
    let used = least.into_iter().flatten();
    let mut cost = 0;
    let shapes = used.map(|(shape, count)| {
        cost += shape.cost() * count;
        shape
    });
    let shapes = shapes.collect();
    (cost, shapes)
}

/// Returns the cheapest bucket that holds a clip, if any does.
pub fn bucket_of(shapes: &[BucketShape], clip: ClipLength) -> Option<usize> {
    let fits = shapes
        .iter()
        .enumerate()
        .filter(|(_, shape)| shape.holds(clip));
    fits.min_by_key(|(_, shape)| shape.cost())
        .map(|(index, _)| index)
}

/// Returns the share of positions, in percent, that are padding when every clip
/// goes to its bucket.
pub fn padding_percent(clips: &[ClipLength], shapes: &[BucketShape]) -> f64 {
    let (mut true_cost, mut padded) = (0_u64, 0_u64);
    for clip in clips {
        if let Some(bucket) = bucket_of(shapes, *clip) {
            true_cost += clip.cost();
            padded += shapes[bucket].cost();
        }
    }
    if padded == 0 {
        0.0
    } else {
        100.0 * (padded - true_cost) as f64 / padded as f64
    }
}
