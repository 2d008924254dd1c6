//! The best chain of shapes, each of which holds the one before.
//!
//! In such a chain a clip goes to the first shape that holds it, so a shape's
//! clips are those below it less those below the one before, and the best
//! chain is found exactly (dynamic programming over corners). Long texts have
//! long audio, so the best shapes of speech are a chain or close to one.

use super::bucket::BucketShape;
use super::lattice::{Corner, Lattice};

/// A corner that fits some clips as tightly as can be.
struct Tight {
    corner: Corner,
    cost: u64,
    /// The number of clips that it holds.
    holds: u64,
}

/// Returns the chain of `count` shapes, some of them perhaps equal, with the least padding.
pub(super) fn best_chain(lattice: &Lattice, count: usize) -> Vec<BucketShape> {
    let corners = tight(lattice);
    // least[i]: what the clips below corner i cost in the best chain that ends there.
    let mut least: Vec<u64> = corners.iter().map(|c| c.cost * c.holds).collect();
    let mut before: Vec<Vec<usize>> = vec![];
    for _ in 1..count {
        let step = |(end, corner): (usize, &Tight)| {
            let (mut best, mut from) = (least[end], end);
            // Corners are ordered by text, so those after this one are not inside.
            for (at, inner) in corners[..end].iter().enumerate() {
                if inner.corner[1] <= corner.corner[1] {
                    let cost = least[at] + corner.cost * (corner.holds - inner.holds);
                    if cost < best {
                        (best, from) = (cost, at);
                    }
                }
            }
            (best, from)
        };
        let (next, from) = corners.iter().enumerate().map(step).unzip();
        least = next;
        before.push(from);
    }
    let Some(mut at) = corners.len().checked_sub(1) else {
        return vec![];
    };
    let mut chain = vec![lattice.shape(corners[at].corner)];
    for from in before.iter().rev() {
        at = from[at];
        chain.push(lattice.shape(corners[at].corner));
    }
    chain
}

/// Returns the corners with a clip on each of their sides, by text and then by
/// audio; any other corner holds the same clips as a smaller one. The last holds
/// all.
fn tight(lattice: &Lattice) -> Vec<Tight> {
    let [_, width] = lattice.sides();
    let mut corners = vec![];
    let mut below = vec![0_u64; width];
    let mut column = vec![0_u64; width];
    for (text, clips) in lattice.rows().enumerate() {
        let mut row = 0;
        for (audio, clips) in clips.iter().enumerate() {
            row += clips;
            column[audio] += clips;
            below[audio] += row;
            if row > 0 && column[audio] > 0 {
                let corner = [text, audio];
                corners.push(Tight {
                    corner,
                    cost: lattice.cost(corner),
                    holds: below[audio],
                });
            }
        }
    }
    corners
}
