//! How many rows the batches of a bucket have, and where leftovers go.
//!
//! An empty row costs as much as a full one. Without care half a batch of
//! every bucket, on every replica, would be empty; so the clips that do not
//! fill a step of their bucket move to a costlier one that holds them, and
//! only where none is left to move to do rows stay empty.

use std::collections::BTreeSet;

use super::bucket::ClipLength;
use super::{Bucket, ClipIndex};

/// Settles the rows and clips of all buckets, whose rows so far are the most they
/// may have, and puts the cheapest first. Buckets may end up without clips.
pub(super) fn fill(buckets: &mut Vec<Bucket>, lengths: &[ClipLength], replicas: u64) {
    buckets.sort_by_key(|bucket| bucket.shape.cost());
    let mut staying = buckets.clone();
    for bucket in &mut staying {
        (bucket.rows, _) = choose(bucket, &[], replicas);
    }
    move_up(buckets, lengths, replicas);
    // A bucket decides without knowing what its leftovers cost in the buckets above it.
    let padded = |buckets: &[Bucket]| -> u64 { buckets.iter().map(|b| b.padded(replicas)).sum() };
    if padded(&staying) <= padded(buckets) {
        *buckets = staying;
    }
}

fn move_up(buckets: &mut [Bucket], lengths: &[ClipLength], replicas: u64) {
    for at in 0..buckets.len() {
        let (done, costlier) = buckets.split_at_mut(at + 1);
        let bucket = &mut done[at];
        let mut moves = moves(bucket, costlier, lengths);
        moves.sort_by_key(|leftover| leftover.extra);
        let (rows, leftovers) = choose(bucket, &moves, replicas);
        bucket.rows = rows;
        moves.truncate(leftovers);
        let moved: BTreeSet<ClipIndex> = moves.iter().map(|leftover| leftover.clip).collect();
        bucket.clips.retain(|clip| !moved.contains(clip));
        for leftover in moves {
            costlier[leftover.to].clips.push(leftover.clip);
        }
    }
}

/// A clip and the cheapest of the costlier buckets that holds it.
struct Move {
    clip: ClipIndex,
    to: usize,
    /// The additional positions it costs there.
    extra: u64,
}

fn moves(bucket: &Bucket, costlier: &[Bucket], lengths: &[ClipLength]) -> Vec<Move> {
    let to = |clip: &ClipIndex| {
        let length = *lengths.get(clip.0 as usize)?;
        let to = costlier.iter().position(|b| b.shape.holds(length))?;
        Some(Move {
            clip: *clip,
            to,
            extra: costlier[to].shape.cost() - bucket.shape.cost(),
        })
    };
    bucket.clips.iter().filter_map(to).collect()
}

/// Chooses the number of rows, the most or up to a fifth less, and how many clips
/// move, so that the fewest positions are wasted; among equals, the most rows.
fn choose(bucket: &Bucket, moves: &[Move], replicas: u64) -> (u32, usize) {
    let clips = bucket.clips.len() as u64;
    let waste = |rows: u32| {
        let per_step = u64::from(rows) * replicas;
        let empty = (clips.next_multiple_of(per_step) - clips) * bucket.shape.cost();
        let left = usize::try_from(clips % per_step).unwrap_or(usize::MAX);
        let extra = moves
            .get(..left)
            .map(|moves| moves.iter().map(|leftover| leftover.extra).sum());
        match extra {
            Some(extra) if extra < empty => (extra, rows, left),
            _ => (empty, rows, 0),
        }
    };
    let least = bucket.rows - bucket.rows / 5;
    // The first of equals wins, and that has the most rows.
    let best = (least..=bucket.rows).rev().map(waste);
    let best = best.min_by_key(|(waste, ..)| *waste);
    best.map_or((bucket.rows, 0), |(_, rows, moved)| (rows, moved))
}
