//! What a piece of a text ends with.

use super::boundary::{CLOSERS, ends_clause, is_ender};
use super::{Limit, SplitError, split};
use crate::Language;

/// A piece of a text that is spoken in one breath.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The text as it was written, without the white space around it.
    pub text: String,
    /// What separates it from the next piece.
    pub end: Break,
}

/// What separates a piece from the next, the longest pause first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Break {
    /// A blank line, or the end of the text.
    Paragraph,
    /// The end of a sentence or of a line.
    Sentence,
    /// A comma, a colon or a dash.
    Clause,
    /// Nothing but white space, or not even that: the text had to be cut.
    Word,
}

/// Cuts a text like [`split`] and at every blank line, and says what each piece ends with.
///
/// # Errors
/// Fails if a single character is over the limit.
pub fn pieces(
    text: &str,
    language: &Language,
    limit: Limit,
    measure: impl Fn(&str) -> usize,
) -> Result<Vec<Piece>, SplitError> {
    let mut pieces = vec![];
    for paragraph in paragraphs(text) {
        let mut rest = paragraph;
        for text in split(paragraph, language, limit, &measure)? {
            rest = rest.trim_start();
            rest = rest.strip_prefix(text.as_str()).unwrap_or_default();
            let end = end_of(&text, rest);
            pieces.push(Piece { text, end });
        }
    }
    Ok(pieces)
}

/// Returns the parts of a text between blank lines; none is empty.
fn paragraphs(text: &str) -> Vec<&str> {
    let mut found = vec![];
    let (mut start, mut at) = (0, 0);
    while let Some(gap) = text[at..].find('\n').map(|next| at + next) {
        let after = &text[gap..];
        let white = after.len() - after.trim_start().len();
        if after[..white].matches('\n').count() > 1 {
            found.push(&text[start..gap]);
            start = gap + white;
        }
        at = gap + white;
    }
    found.push(&text[start..]);
    found.retain(|paragraph| !paragraph.trim().is_empty());
    found
}

/// Returns what stands between a piece and the `rest` of its paragraph.
fn end_of(piece: &str, rest: &str) -> Break {
    let next = rest.trim_start();
    if next.is_empty() {
        return Break::Paragraph;
    }
    let gap = &rest[..rest.len() - next.len()];
    let bare = piece.trim_end_matches(CLOSERS);
    let Some((at, last)) = bare.char_indices().next_back() else {
        return Break::Word;
    };
    if gap.contains('\n') || is_ender(last) || matches!(last, '.' | '…') {
        return Break::Sentence;
    }
    match ends_clause(piece, at, last) {
        true => Break::Clause,
        false => Break::Word,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str, limit: usize) -> Vec<(String, Break)> {
        let language = "en".parse().unwrap();
        let pieces = pieces(text, &language, Limit(limit), |text| text.chars().count());
        let pieces = pieces.unwrap().into_iter();
        pieces.map(|piece| (piece.text, piece.end)).collect()
    }

    fn ends(text: &str, limit: usize) -> Vec<Break> {
        cut(text, limit).into_iter().map(|(_, end)| end).collect()
    }

    #[test]
    fn a_piece_knows_what_it_ends_with() {
        use Break::{Clause, Paragraph, Sentence, Word};
        assert_eq!(ends("One two. Three.", 9), [Sentence, Paragraph]);
        assert_eq!(ends("\"One two.\" Three.", 11), [Sentence, Paragraph]);
        assert_eq!(ends("One two, three.", 9), [Clause, Paragraph]);
        assert_eq!(ends("One two three.", 9), [Word, Paragraph]);
        assert_eq!(ends("abcdefghij", 5), [Word, Paragraph]);
        assert_eq!(ends("One two\nthree four", 9), [Sentence, Word, Paragraph]);
        assert_eq!(
            ends("سلام دنیا، خوبی؟ بله", 11),
            [Clause, Sentence, Paragraph]
        );
    }

    #[test]
    fn a_blank_line_is_always_a_cut() {
        let text = "One.\r\n \t\r\nTwo.\nThree.\n\n\n***\n\n";
        let pieces = cut(text, 100);
        let texts: Vec<&str> = pieces.iter().map(|(text, _)| text.as_str()).collect();
        assert_eq!(texts, ["One.", "Two.\nThree.", "***"]);
        assert!(pieces.iter().all(|(_, end)| *end == Break::Paragraph));
        assert!(cut("\n\n \n", 10).is_empty());
    }
}
