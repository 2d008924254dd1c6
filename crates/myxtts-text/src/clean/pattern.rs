//! Python's idea of a word character and of white space, which the reference's
//! patterns are built from.
//!
//! The patterns themselves are written as scanners where they are used: there
//! are a dozen, and a regular expression engine would be the largest dependency
//! of this crate.

use unicode_normalization::char::is_combining_mark;

/// Matches `\w`: letters and numbers of any kind and the underscore, but no marks.
pub(super) fn is_word(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric() || c == '_';
    }
    let circled = matches!(c, '\u{24B6}'..='\u{24E9}' | '\u{1F130}'..='\u{1F189}');
    c.is_alphanumeric() && !is_combining_mark(c) && !circled
}

/// Matches `\s`: Unicode white space and the four information separators.
pub(super) fn is_space(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{1C}'..='\u{1F}')
}

/// Matches `\b` between two neighbours; `None` is the edge of the text.
pub(super) fn is_boundary(before: Option<char>, after: Option<char>) -> bool {
    before.is_some_and(is_word) != after.is_some_and(is_word)
}

/// Makes every run of white space one space, and removes it at the ends.
pub(super) fn collapse_spaces(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split(is_space).filter(|word| !word.is_empty()) {
        if !out.is_empty() {
            out.push(' ');
        }
        out += word;
    }
    out
}
