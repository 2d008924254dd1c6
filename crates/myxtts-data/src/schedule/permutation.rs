//! A keyed shuffle that can be asked for one position.
//!
//! Shuffling a list costs its length in time and memory and has to be redone
//! to resume. A Feistel network over the next power of four, walked until it
//! lands inside the range, is a permutation of `0..len` whose n-th element
//! costs a few multiplications: resuming at step one million is as cheap as
//! at step zero, and nothing has to be kept.

use myxtts_base::{finalize, splitmix64};

/// A permutation of `0..len` chosen by a key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Permutation {
    len: u64,
    half_bits: u32,
    keys: [u64; ROUNDS],
}

/// The number of rounds, enough for a shuffle that must look random, not resist an
/// attacker.
const ROUNDS: usize = 6;

impl Permutation {
    pub(super) fn new(len: u64, key: u64) -> Self {
        let bits = u64::BITS - len.saturating_sub(1).leading_zeros();
        let mut state = key;
        let keys = std::array::from_fn(|_| {
            state = splitmix64(state);
            state
        });
        Self {
            len,
            half_bits: bits.div_ceil(2).max(1),
            keys,
        }
    }

    /// Returns the element at `position`, which must be below `len`.
    ///
    /// The domain is at most four times `len`, so the walk takes four rounds
    /// of the network on average.
    pub(super) fn at(&self, position: u64) -> u64 {
        debug_assert!(position < self.len);
        let mut value = position;
        loop {
            value = self.network(value);
            if value < self.len {
                return value;
            }
        }
    }

    fn network(&self, value: u64) -> u64 {
        let mask = (1 << self.half_bits) - 1;
        let (mut left, mut right) = (value >> self.half_bits, value & mask);
        for key in self.keys {
            (left, right) = (right, left ^ (finalize(right ^ key) & mask));
        }
        (left << self.half_bits) | right
    }
}

/// Mixes several numbers into one key.
pub(super) fn key(parts: &[u64]) -> u64 {
    parts.iter().fold(0x243F_6A88_85A3_08D3, |state, part| {
        finalize(state ^ finalize(*part))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_comes_once() {
        for len in (1..70).chain([255, 256, 257, 1000, 4096, 100_003]) {
            let permutation = Permutation::new(len, key(&[7, len]));
            let mut seen = vec![false; usize::try_from(len).unwrap()];
            for position in 0..len {
                let element = usize::try_from(permutation.at(position)).unwrap();
                assert!(!seen[element], "{element} twice in {len}");
                seen[element] = true;
            }
        }
    }

    #[test]
    fn keys_give_different_orders() {
        let order = |key| -> Vec<u64> {
            let permutation = Permutation::new(1000, key);
            (0..1000).map(|position| permutation.at(position)).collect()
        };
        let fixed = |a: &[u64], b: &[u64]| a.iter().zip(b).filter(|(a, b)| a == b).count();
        let (a, b) = (order(1), order(2));
        assert!(
            fixed(&a, &b) < 10,
            "two shuffles of 1000 agree in about one place"
        );
        let identity: Vec<u64> = (0..1000).collect();
        assert!(fixed(&a, &identity) < 10);
        assert_eq!(a, order(1), "the same key gives the same order");
    }
}
