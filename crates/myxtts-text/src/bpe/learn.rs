//! Learning merges from counted words: what [training](super::train) and
//! [growing](super::grow) share.
//!
//! The most frequent pair of neighbours becomes a token, again and again.
//! Equal counts are decided by the smaller ids, so the result depends on the
//! corpus and on nothing else: not on the order of its lines, not on a hash.

use std::collections::{BTreeSet, BinaryHeap, HashMap};

use super::merge::Pair;
use super::vocabulary::TokenId;
use super::words::words;

/// The longest run without spaces that is counted whole. A longer one is counted in
/// pieces, so that one line of a script without spaces cannot make every merge
/// slow.
const LONGEST_WORD: usize = 256;

/// How often each word and each character occurs in a corpus.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) words: HashMap<Box<str>, u64>,
    pub(super) characters: HashMap<char, u64>,
}

impl Counts {
    pub(super) fn of<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> Self {
        let mut counts = Self::default();
        for text in texts {
            for word in words(text.as_ref()) {
                match counts.words.get_mut(word) {
                    Some(count) => *count += 1,
                    None => {
                        counts.words.insert(word.into(), 1);
                    }
                }
            }
        }
        for (word, count) in &counts.words {
            for c in word.chars() {
                *counts.characters.entry(c).or_default() += count;
            }
        }
        counts
    }

    /// Returns the most frequent characters that together make up `coverage` of all
    /// occurrences, in order of code point.
    pub(super) fn alphabet(&self, coverage: f64) -> Vec<char> {
        let mut characters: Vec<(char, u64)> =
            self.characters.iter().map(|(c, n)| (*c, *n)).collect();
        characters.sort_by_key(|&(c, count)| (std::cmp::Reverse(count), c));
        let total: u64 = characters.iter().map(|(_, count)| count).sum();
        #[expect(clippy::cast_precision_loss, reason = "a share, not a count")]
        let target = coverage * total as f64;
        let mut covered = 0u64;
        let mut kept: Vec<char> = characters
            .into_iter()
            .take_while(|(_, count)| {
                #[expect(clippy::cast_precision_loss, reason = "a share, not a count")]
                let enough = covered as f64 >= target;
                covered += count;
                !enough
            })
            .map(|(c, _)| c)
            .collect();
        kept.sort_unstable();
        kept
    }
}

/// The state of learning: the corpus as ids, and where each pair is.
pub(super) struct Learner {
    words: Vec<(Vec<TokenId>, u64)>,
    pairs: HashMap<Pair, PairUse>,
    heap: BinaryHeap<Candidate>,
    /// The token that is never part of a merge.
    unknown: TokenId,
}

#[derive(Default)]
struct PairUse {
    count: u64,
    /// The indices of words that have the pair, or once had it.
    words: BTreeSet<usize>,
}

/// A pair and its count, ordered by count, then by *smaller* ids.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Candidate(u64, std::cmp::Reverse<Pair>);

impl Learner {
    pub(super) fn new(counted: Vec<(Vec<TokenId>, u64)>, unknown: TokenId) -> Self {
        let words: Vec<(Vec<TokenId>, u64)> = counted
            .into_iter()
            .flat_map(|(ids, count)| {
                ids.chunks(LONGEST_WORD)
                    .map(|piece| (piece.to_vec(), count))
                    .collect::<Vec<_>>()
            })
            .collect();
        let mut learner = Self {
            words,
            pairs: HashMap::new(),
            heap: BinaryHeap::new(),
            unknown,
        };
        for at in 0..learner.words.len() {
            learner.count_word(at);
        }
        learner.heap = learner
            .pairs
            .iter()
            .map(|(pair, used)| Candidate(used.count, std::cmp::Reverse(*pair)))
            .collect();
        learner
    }

    /// Returns the pair to merge next, if any occurs `at_least` times.
    pub(super) fn best(&mut self, at_least: u64) -> Option<Pair> {
        while let Some(Candidate(count, std::cmp::Reverse(pair))) = self.heap.pop() {
            let now = self.pairs.get(&pair).map_or(0, |used| used.count);
            if now == count && count >= at_least.max(1) {
                return Some(pair);
            }
            // Counts only change together with a push, so a stale entry has a
            // fresh one somewhere in the heap.
        }
        None
    }

    /// Replaces `pair` by `result` everywhere.
    pub(super) fn merge(&mut self, pair: Pair, result: TokenId) {
        let Some(used) = self.pairs.remove(&pair) else {
            return;
        };
        let mut touched: BTreeSet<Pair> = BTreeSet::new();
        for at in used.words {
            let (ids, count) = &mut self.words[at];
            for neighbours in ids.windows(2) {
                let old = (neighbours[0], neighbours[1]);
                if let Some(old_use) = self.pairs.get_mut(&old) {
                    old_use.count -= *count;
                    touched.insert(old);
                }
            }
            join(ids, pair, result);
            touched.extend(
                ids.windows(2)
                    .map(|neighbours| (neighbours[0], neighbours[1])),
            );
            self.count_word(at);
        }
        for pair in touched {
            if let Some(used) = self.pairs.get(&pair)
                && used.count > 0
            {
                self.heap
                    .push(Candidate(used.count, std::cmp::Reverse(pair)));
            }
        }
    }

    fn count_word(&mut self, at: usize) {
        let (ids, count) = &self.words[at];
        for neighbours in ids.windows(2) {
            if neighbours.contains(&self.unknown) {
                continue;
            }
            let used = self
                .pairs
                .entry((neighbours[0], neighbours[1]))
                .or_default();
            used.count += count;
            used.words.insert(at);
        }
    }
}

/// Replaces every `pair` of the word, from the left, by `result`.
fn join(ids: &mut Vec<TokenId>, pair: Pair, result: TokenId) {
    let mut joined = Vec::with_capacity(ids.len());
    let mut at = 0;
    while at < ids.len() {
        if at + 1 < ids.len() && (ids[at], ids[at + 1]) == pair {
            joined.push(result);
            at += 2;
        } else {
            joined.push(ids[at]);
            at += 1;
        }
    }
    *ids = joined;
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Counts everything anew before each merge.
    fn learn_plainly(mut words: Vec<(Vec<TokenId>, u64)>, merges: usize) -> Vec<Pair> {
        let mut learned = Vec::new();
        for result in 100..100 + u32::try_from(merges).unwrap() {
            let mut counts: HashMap<Pair, u64> = HashMap::new();
            for (ids, count) in &words {
                for pair in ids.windows(2) {
                    *counts.entry((pair[0], pair[1])).or_default() += count;
                }
            }
            let best = counts
                .into_iter()
                .max_by_key(|&(pair, n)| (n, std::cmp::Reverse(pair)));
            let Some((pair, _)) = best else { break };
            words
                .iter_mut()
                .for_each(|(ids, _)| join(ids, pair, result));
            learned.push(pair);
        }
        learned
    }

    proptest! {
        #[test]
        fn incremental_counts_agree_with_counting_anew(
            words in proptest::collection::vec(
                (proptest::collection::vec(0u32..4, 1..12), 1u64..5), 0..12),
        ) {
            let plain = learn_plainly(words.clone(), 20);
            let mut learner = Learner::new(words, 99);
            let mut learned = Vec::new();
            for result in 100..120 {
                let Some(pair) = learner.best(1) else { break };
                learner.merge(pair, result);
                learned.push(pair);
            }
            prop_assert_eq!(learned, plain);
        }
    }

    #[test]
    fn coverage_drops_the_rarest_characters() {
        let counts = Counts::of(["aaaaaaaaab"]);
        assert_eq!(counts.alphabet(1.0), ['a', 'b']);
        assert_eq!(counts.alphabet(0.9), ['a']);
        assert_eq!(counts.alphabet(0.0), [' '; 0]);
    }
}
