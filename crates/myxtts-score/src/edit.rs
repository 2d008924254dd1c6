//! How far a transcript is from the text that was to be said.

use std::ops::AddAssign;

use serde::Serialize;

/// The fewest words, or characters, to replace, remove and add.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Edits {
    /// The number of edits that turn the text into the transcript.
    pub edits: usize,
    /// The length of the text that was to be said.
    pub length: usize,
}

impl Edits {
    /// Returns the edits per word, or character, of the text. It is above 1 where
    /// the transcript has many more, and `None` for an empty text.
    pub fn rate(self) -> Option<f64> {
        (self.length > 0).then(|| self.edits as f64 / self.length as f64)
    }
}

/// Adds up several texts; the rate over them weighs each by its length.
impl AddAssign for Edits {
    fn add_assign(&mut self, other: Self) {
        self.edits += other.edits;
        self.length += other.length;
    }
}

/// Returns the words of a text in lower case, without what is not said:
/// everything that is not a letter, a digit or a mark separates words.
/// Apostrophes and joiners inside a word are dropped without ending it.
pub fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for c in text.chars() {
        let is_inside = matches!(c, '\'' | '\u{2019}' | '\u{200c}' | '\u{200d}');
        if c.is_alphanumeric() || is_mark(c) {
            if let Some(word) = words.last_mut() {
                word.extend(c.to_lowercase());
            }
        } else if !is_inside {
            words.push(String::new());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Returns the characters of the [`words`] of a text, with one space between two words.
pub fn characters(text: &str) -> Vec<char> {
    words(text).join(" ").chars().collect()
}

/// Returns whether `c` is a vowel sign that the standard library does not count
/// among letters: Latin and Arabic ones, and the virama and its like, without
/// which words fall apart.
fn is_mark(c: char) -> bool {
    matches!(u32::from(c),
        0x0300..=0x036f | 0x064b..=0x065f | 0x0670 | 0x093c | 0x094d | 0x0951..=0x0954)
}

/// Computes Levenshtein's distance of a transcript from a text.
pub fn edits<T: PartialEq>(text: &[T], transcript: &[T]) -> Edits {
    // The row above: the edits from the beginning of the text to each length of
    // the transcript.
    let mut above: Vec<usize> = (0..=transcript.len()).collect();
    let mut row = vec![0; transcript.len() + 1];
    for (place, wanted) in text.iter().enumerate() {
        row[0] = place + 1;
        for (column, found) in transcript.iter().enumerate() {
            let replaced = above[column] + usize::from(wanted != found);
            row[column + 1] = replaced.min(above[column + 1] + 1).min(row[column] + 1);
        }
        std::mem::swap(&mut above, &mut row);
    }
    Edits {
        edits: above.last().copied().unwrap_or_default(),
        length: text.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The definition: each way of the last step, tried.
    fn plain(text: &[u8], transcript: &[u8]) -> usize {
        match (text.split_last(), transcript.split_last()) {
            (None, _) => transcript.len(),
            (_, None) => text.len(),
            (Some((wanted, text_rest)), Some((found, transcript_rest))) => {
                let replaced = plain(text_rest, transcript_rest) + usize::from(wanted != found);
                let removed = plain(text_rest, transcript) + 1;
                let added = plain(text, transcript_rest) + 1;
                replaced.min(removed).min(added)
            }
        }
    }

    proptest! {
        #[test]
        fn the_distance_is_the_smallest_of_all(
            text in prop::collection::vec(0_u8..4, 0..7),
            transcript in prop::collection::vec(0_u8..4, 0..7),
        ) {
            let found = edits(&text, &transcript);
            prop_assert_eq!(found.edits, plain(&text, &transcript));
            prop_assert_eq!(found.length, text.len());
        }
    }

    #[test]
    fn words_are_what_is_said() {
        assert_eq!(
            words("Don't  STOP -- it's 7."),
            ["dont", "stop", "its", "7"]
        );
        assert_eq!(words("می\u{200c}رود، نَه؟"), ["میرود", "نَه"]);
        assert_eq!(words(" .,! "), Vec::<String>::new());
        assert_eq!(characters("A b, c!"), ['a', ' ', 'b', ' ', 'c']);
    }

    #[test]
    fn rates_weigh_texts_by_their_length() {
        let rate = |text: &str, transcript: &str| edits(&words(text), &words(transcript));
        let mut all = rate("one two three", "one too three four");
        assert_eq!(all.rate(), Some(2.0 / 3.0));
        all += rate("five", "five");
        assert_eq!(all.rate(), Some(0.5));
        assert_eq!(rate("", "something").rate(), None);
        assert_eq!(rate("one", "a b c").rate(), Some(3.0));
    }
}
