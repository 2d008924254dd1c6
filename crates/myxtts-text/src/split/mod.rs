//! Cutting a long text into pieces that fit the model.
//!
//! The limit is in *tokens*, as the model counts them, not in characters as the
//! reference does: 250 characters of digits are a thousand tokens. A text that
//! fits is one piece. Otherwise it is cut at sentence ends, and neighbouring
//! sentences share a piece while they fit; a sentence that is too long is cut
//! at its clauses, a clause at its spaces, and a word, at last, anywhere.
//!
//! [`pieces`] also says what each piece ends with, so that a speaker can pause
//! there, and always cuts between paragraphs: nobody reads across a blank line
//! in one breath.
//!
//! Invariants (there is a property test for each): the pieces hold every
//! character of the text but white space, in order; each piece is within the
//! limit.

mod boundary;
mod marks;
mod pause;

use boundary::Level;
pub use marks::{Mark, marks};
use myxtts_base::report;
pub use pause::{Break, Piece, pieces};

use crate::{Language, Vocabulary, clean};

/// The most tokens a piece may have, the language tag included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit(pub usize);

/// A text that cannot be cut small enough.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{}",
    report!(
        "`{character}` alone is {tokens} tokens, more than the limit of {limit}";
        fix: "raise the limit; the released model takes about 400 text tokens"
    )
)]
pub struct SplitError {
    /// The character that is too large.
    pub character: char,
    /// The number of tokens it has.
    pub tokens: usize,
    /// The most tokens a piece may have.
    pub limit: usize,
}

impl Vocabulary {
    /// Cuts a text, as a person wrote it, into pieces of at most `limit`
    /// tokens, measured after cleaning and with the language tag.
    ///
    /// # Errors
    /// Fails if a single character is over the limit.
    pub fn split(
        &self,
        text: &str,
        language: &Language,
        limit: Limit,
    ) -> Result<Vec<String>, SplitError> {
        split(text, language, limit, |piece| {
            1 + self.encode_raw(&clean(piece, language).text).len()
        })
    }
}

/// Cuts a text into pieces that `measure` finds to be at most `limit`.
///
/// # Errors
/// Fails if a single character is over the limit.
pub fn split(
    text: &str,
    language: &Language,
    limit: Limit,
    measure: impl Fn(&str) -> usize,
) -> Result<Vec<String>, SplitError> {
    let splitter = Splitter {
        language,
        limit: limit.0,
        measure,
    };
    let mut pieces = Vec::new();
    splitter.pack(text.trim(), Level::Sentence, &mut pieces)?;
    Ok(pieces)
}

struct Splitter<'l, M> {
    language: &'l Language,
    limit: usize,
    measure: M,
}

impl<M: Fn(&str) -> usize> Splitter<'_, M> {
    fn fits(&self, text: &str) -> bool {
        (self.measure)(text.trim()) <= self.limit
    }

    /// Appends `text` to `pieces`, cut at `level` or below.
    fn pack(&self, text: &str, level: Level, pieces: &mut Vec<String>) -> Result<(), SplitError> {
        if text.trim().is_empty() {
            return Ok(());
        }
        if self.fits(text) {
            pieces.push(text.trim().to_owned());
            return Ok(());
        }
        let Some(below) = level.below() else {
            return self.cut_anywhere(text, pieces);
        };
        let (mut start, mut end) = (0, 0);
        for next in boundary::ends(text, level, self.language) {
            if end > start && !self.fits(&text[start..next]) {
                self.pack(&text[start..end], below, pieces)?;
                start = end;
            }
            end = next;
        }
        self.pack(&text[start..end], below, pieces)
    }

    /// Cuts off the longest prefix that fits, again and again.
    fn cut_anywhere(&self, text: &str, pieces: &mut Vec<String>) -> Result<(), SplitError> {
        let mut rest = text.trim();
        while let Some(first) = rest.chars().next() {
            let ends: Vec<usize> = rest
                .char_indices()
                .skip(1)
                .map(|(at, _)| at)
                .chain([rest.len()])
                // A token is at least one character, but a character can
                // vanish in cleaning: look a little further than the limit.
                .take(self.limit.saturating_mul(16).max(16))
                .collect();
            let mut fitting = 0;
            let mut step = ends.len();
            while step > 0 {
                if fitting + step <= ends.len() && self.fits(&rest[..ends[fitting + step - 1]]) {
                    fitting += step;
                } else {
                    step /= 2;
                }
            }
            if fitting == 0 {
                return Err(SplitError {
                    character: first,
                    tokens: (self.measure)(&rest[..ends[0]]),
                    limit: self.limit,
                });
            }
            let end = self.kindest_end(rest, &ends[..fitting]);
            pieces.push(rest[..end].trim().to_owned());
            rest = rest[end..].trim_start();
        }
        Ok(())
    }

    /// Returns the last of `ends` that is not inside a number or before a mark.
    fn kindest_end(&self, text: &str, ends: &[usize]) -> usize {
        let last = ends.last().copied().unwrap_or(text.len());
        let kind =
            ends.iter().rev().copied().find(|&end| {
                boundary::may_cut(&text[..end], &text[end..]) && self.fits(&text[..end])
            });
        kind.unwrap_or(last)
    }
}
