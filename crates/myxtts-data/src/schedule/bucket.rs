//! Length buckets: a small closed set of shapes chosen from the data.
//!
//! A clip costs text tokens plus audio codes. Clips are sorted by audio
//! length and cut into runs; a run is padded to its longest text and its
//! longest audio. The cuts are the best there are for the given number of
//! buckets over a grid of candidate edges (dynamic programming), because
//! padding costs more than loading: one static shape for all wastes half of
//! the compute.

use serde::{Deserialize, Serialize};

use crate::units::{Codes, Tokens};

/// The true length of a clip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClipLength {
    /// Text.
    pub text: Tokens,
    /// Audio.
    pub audio: Codes,
}

/// A shape that batches are padded to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BucketShape {
    /// Longest text.
    pub text: Tokens,
    /// Longest audio.
    pub audio: Codes,
}

impl BucketShape {
    /// Padded positions of one row.
    pub fn cost(&self) -> u64 {
        u64::from(self.text.0) + u64::from(self.audio.0)
    }

    fn holds(&self, clip: ClipLength) -> bool {
        clip.text <= self.text && clip.audio <= self.audio
    }
}

impl ClipLength {
    fn cost(self) -> u64 {
        u64::from(self.text.0) + u64::from(self.audio.0)
    }
}

/// Candidate edges. The best cuts over 128 quantiles are within a percent of
/// the best over all clips, and the search stays under a millisecond.
const GRID: usize = 128;

/// The best shapes for `clips`, at most `count` of them, shortest audio first.
pub fn choose_buckets(clips: &[ClipLength], count: usize) -> Vec<BucketShape> {
    if clips.is_empty() || count == 0 {
        return vec![];
    }
    let mut sorted = clips.to_vec();
    sorted.sort_by_key(|clip| (clip.audio, clip.text));
    let groups = grid(&sorted);
    let cuts = best_cuts(&groups, count.min(groups.len()));
    let mut shapes = Vec::with_capacity(cuts.len());
    let mut start = 0;
    for end in cuts {
        shapes.push(join(&groups[start..end]).shape);
        start = end;
    }
    shapes
}

/// The first bucket that holds a clip, if any does.
pub fn bucket_of(shapes: &[BucketShape], clip: ClipLength) -> Option<usize> {
    let fits = shapes
        .iter()
        .enumerate()
        .filter(|(_, shape)| shape.holds(clip));
    fits.min_by_key(|(_, shape)| shape.cost())
        .map(|(index, _)| index)
}

/// Share of positions that are padding when every clip goes to its bucket, in percent.
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

/// Neighbouring clips that are never separated.
#[derive(Clone, Copy)]
struct Group {
    shape: BucketShape,
    clips: u64,
}

fn grid(sorted: &[ClipLength]) -> Vec<Group> {
    let size = sorted.len().div_ceil(GRID).max(1);
    sorted
        .chunks(size)
        .map(|clips| {
            let single = |clip: &ClipLength| Group {
                shape: BucketShape {
                    text: clip.text,
                    audio: clip.audio,
                },
                clips: 1,
            };
            join(&clips.iter().map(single).collect::<Vec<_>>())
        })
        .collect()
}

fn join(groups: &[Group]) -> Group {
    let empty = Group {
        shape: BucketShape {
            text: Tokens(0),
            audio: Codes(0),
        },
        clips: 0,
    };
    groups.iter().fold(empty, |joined, group| Group {
        shape: BucketShape {
            text: joined.shape.text.max(group.shape.text),
            audio: joined.shape.audio.max(group.shape.audio),
        },
        clips: joined.clips + group.clips,
    })
}

/// Ends of the runs that cost the fewest padded positions.
fn best_cuts(groups: &[Group], count: usize) -> Vec<usize> {
    let n = groups.len();
    // cost[i][j]: the groups i..=j as one bucket.
    let mut cost = vec![vec![0_u64; n]; n];
    for start in 0..n {
        let mut run = groups[start];
        cost[start][start] = run.clips * run.shape.cost();
        for end in start + 1..n {
            run = join(&[run, groups[end]]);
            cost[start][end] = run.clips * run.shape.cost();
        }
    }
    // best[k][j]: the first j groups in k + 1 buckets, and where the last one starts.
    let mut best: Vec<Vec<(u64, usize)>> = vec![
        (0..=n)
            .map(|j| (if j == 0 { 0 } else { cost[0][j - 1] }, 0))
            .collect(),
    ];
    for k in 1..count {
        let row = (0..=n).map(|j| {
            let splits = (k..j).map(|i| (best[k - 1][i].0 + cost[i][j - 1], i));
            splits.min().unwrap_or((u64::MAX / 2, 0))
        });
        let row: Vec<(u64, usize)> = row.collect();
        best.push(row);
    }
    let mut cuts = Vec::new();
    let (mut k, mut end) = (count - 1, n);
    loop {
        cuts.push(end);
        if k == 0 {
            break;
        }
        end = best[k][end].1;
        k -= 1;
    }
    cuts.reverse();
    cuts
}
