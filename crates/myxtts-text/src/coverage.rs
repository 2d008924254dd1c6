//! Which characters of a corpus are outside a vocabulary, and on which lines.
//!
//! Such a character becomes `[UNK]`, and the model learns to be silent there.
//! Texts are added one at a time and forgotten; what is kept is one record per
//! *distinct* character, with the first few of its lines.

use std::collections::BTreeMap;

use crate::Vocabulary;

/// The number of lines remembered for each character.
const LINES: usize = 20;

/// A character outside the vocabulary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uncovered<P = u64> {
    /// The character that is not covered.
    pub character: char,
    /// How often it occurs.
    pub count: u64,
    /// The number of lines that have it.
    pub line_count: u64,
    /// The first of those lines.
    pub first_lines: Vec<P>,
}

#[derive(Debug)]
struct Seen<P> {
    record: Uncovered<P>,
    last_line: P,
}

/// Collects the characters that a vocabulary does not have. `P` is the caller's
/// name for a line: a number, or a file and a number.
#[derive(Debug)]
pub struct Coverage<'v, P = u64> {
    vocabulary: &'v Vocabulary,
    uncovered: BTreeMap<char, Seen<P>>,
    characters: u64,
}

impl<'v, P: Clone + PartialEq> Coverage<'v, P> {
    /// Starts with nothing seen.
    pub fn new(vocabulary: &'v Vocabulary) -> Self {
        Self {
            vocabulary,
            uncovered: BTreeMap::new(),
            characters: 0,
        }
    }

    /// Looks at one cleaned text; lines must come in order.
    pub fn add(&mut self, line: &P, text: &str) {
        for character in text.chars().filter(|c| !c.is_whitespace()) {
            self.characters += 1;
            if self.vocabulary.covers(character) {
                continue;
            }
            let seen = self.uncovered.entry(character).or_insert_with(|| Seen {
                record: Uncovered {
                    character,
                    count: 0,
                    line_count: 0,
                    first_lines: Vec::new(),
                },
                last_line: line.clone(),
            });
            let record = &mut seen.record;
            if record.count == 0 || seen.last_line != *line {
                seen.last_line = line.clone();
                record.line_count += 1;
                if record.first_lines.len() < LINES {
                    record.first_lines.push(line.clone());
                }
            }
            record.count += 1;
        }
    }

    /// Returns the number of characters looked at, white space aside.
    pub fn characters(&self) -> u64 {
        self.characters
    }

    /// Returns the characters outside, the most frequent first.
    pub fn uncovered(&self) -> Vec<Uncovered<P>> {
        let mut list: Vec<Uncovered<P>> = self
            .uncovered
            .values()
            .map(|seen| seen.record.clone())
            .collect();
        list.sort_by_key(|entry| (std::cmp::Reverse(entry.count), entry.character));
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Training;

    #[test]
    fn characters_are_counted_and_their_lines_kept() {
        let vocabulary = Vocabulary::train(["abc"], &Training::default()).unwrap();
        let mut coverage = Coverage::new(&vocabulary);
        for line in 1..=100 {
            coverage.add(&line, "a xx b");
        }
        coverage.add(&101, "a y x");
        let list = coverage.uncovered();
        assert_eq!(coverage.characters(), 403);
        assert_eq!(list.len(), 2);
        assert_eq!(
            (list[0].character, list[0].count, list[0].line_count),
            ('x', 201, 101)
        );
        assert_eq!(list[0].first_lines, (1..=20).collect::<Vec<u64>>());
        assert_eq!(
            (list[1].character, list[1].first_lines.as_slice()),
            ('y', [101].as_slice())
        );
    }
}
