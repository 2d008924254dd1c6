//! The merges of a vocabulary applied to one word.
//!
//! Byte-pair encoding in one sentence: start from single characters and join,
//! again and again, the neighbouring pair whose merge comes first in the list
//! (the leftmost of equals), until no pair can be joined.
//!
//! It is written with a heap over a linked list, so that a "word" of a megabyte (a
//! script without spaces, or a hostile line) costs `n log n`. The tests keep
//! the plain quadratic version beside it.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};

/// A pair of neighbouring token ids.
pub(super) type Pair = (u32, u32);

/// The place of a merge in the list, and the id of its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Merge {
    pub(super) rank: u32,
    pub(super) result: u32,
}

/// The merges by their pairs.
pub(super) type Merges = HashMap<Pair, Merge, BuildHasherDefault<IdHasher>>;

/// A multiplicative hash for small integers: the ids come from our own table,
/// so nobody can choose them to collide, and SipHash was half of the time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct IdHasher(u64);

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u32(u32::from(byte));
        }
    }
    fn write_u32(&mut self, value: u32) {
        self.0 = (self.0.rotate_left(26) ^ u64::from(value)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}

const NONE: usize = usize::MAX;

/// One symbol of the word; `next == NONE` at the end, `id == None` once it was
/// swallowed by its left neighbour.
struct Symbol {
    id: Option<u32>,
    previous: usize,
    next: usize,
}

/// Applies `merges` to the ids of single characters, in place.
pub(super) fn apply(merges: &Merges, ids: &mut Vec<u32>) {
    if ids.len() < 2 {
        return;
    }
    let last = ids.len() - 1;
    let mut symbols: Vec<Symbol> = ids
        .iter()
        .enumerate()
        .map(|(at, &id)| Symbol {
            id: Some(id),
            previous: at.checked_sub(1).unwrap_or(NONE),
            next: if at == last { NONE } else { at + 1 },
        })
        .collect();

    // Entries are never removed: one that no longer matches its pair is stale.
    let mut heap: BinaryHeap<Reverse<(u32, usize, u32)>> = ids
        .windows(2)
        .enumerate()
        .filter_map(|(at, pair)| {
            let merge = merges.get(&(pair[0], pair[1]))?;
            Some(Reverse((merge.rank, at, merge.result)))
        })
        .collect();

    while let Some(Reverse((rank, at, result))) = heap.pop() {
        let right_at = symbols[at].next;
        if right_at == NONE {
            continue;
        }
        let (Some(left), Some(right)) = (symbols[at].id, symbols[right_at].id) else {
            continue;
        };
        if merges.get(&(left, right)) != Some(&Merge { rank, result }) {
            continue;
        }
        let after = symbols[right_at].next;
        symbols[right_at].id = None;
        symbols[at].id = Some(result);
        symbols[at].next = after;
        if after != NONE {
            symbols[after].previous = at;
            if let Some(id) = symbols[after].id
                && let Some(merge) = merges.get(&(result, id))
            {
                heap.push(Reverse((merge.rank, at, merge.result)));
            }
        }
        let before = symbols[at].previous;
        if before != NONE
            && let Some(id) = symbols[before].id
            && let Some(merge) = merges.get(&(id, result))
        {
            heap.push(Reverse((merge.rank, before, merge.result)));
        }
    }
    ids.clear();
    ids.extend(symbols.iter().filter_map(|symbol| symbol.id));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The definition, as plainly as it can be written.
    fn apply_plainly(merges: &Merges, ids: &mut Vec<u32>) {
        loop {
            let best = ids
                .windows(2)
                .enumerate()
                .filter_map(|(at, pair)| Some((merges.get(&(pair[0], pair[1]))?, at)))
                .min_by_key(|(merge, at)| (merge.rank, *at));
            let Some((merge, at)) = best else { return };
            ids[at] = merge.result;
            ids.remove(at + 1);
        }
    }

    proptest! {
        #[test]
        fn the_heap_agrees_with_the_definition(
            pairs in proptest::collection::vec((0u32..12, 0u32..12), 0..24),
            word in proptest::collection::vec(0u32..5, 0..40),
        ) {
            // The result of merge k is token 5 + k: a real vocabulary, in that
            // a result is never one of its own parts.
            let merges: Merges = pairs
                .into_iter()
                .zip(0u32..)
                .filter(|((left, right), k)| left.max(right) < &(5 + k))
                .map(|(pair, k)| (pair, Merge { rank: k, result: 5 + k }))
                .collect();
            let (mut fast, mut plain) = (word.clone(), word);
            apply(&merges, &mut fast);
            apply_plainly(&merges, &mut plain);
            prop_assert_eq!(fast, plain);
        }
    }

    #[test]
    fn a_very_long_word_takes_no_time() {
        let merges: Merges = (0..16)
            .map(|k| {
                (
                    (k, k),
                    Merge {
                        rank: k,
                        result: k + 1,
                    },
                )
            })
            .collect();
        let mut ids = vec![0; 1 << 20];
        apply(&merges, &mut ids);
        assert_eq!(ids, vec![16; 1 << 4]);
    }
}
