//! Cutting text into the pieces that merges may not cross.
//!
//! The vocabulary asks for the pre-tokenizer called `Whitespace`, which is the
//! pattern `\w+|[^\w\s]+` in Unicode mode: maximal runs of word characters,
//! maximal runs of everything else that is not white space. A word character
//! there is a letter, a mark, a decimal digit, a connector or a joiner, so the
//! Persian half-space (ZWNJ) *is* part of a word and `²` is not.

use unicode_normalization::char::is_combining_mark;

/// The zeroes of every block of decimal digits; each block is ten consecutive
/// characters (Unicode guarantees it for category Nd).
const ZEROES: [u32; 71] = [
    0x0030, 0x0660, 0x06F0, 0x07C0, 0x0966, 0x09E6, 0x0A66, 0x0AE6, 0x0B66, 0x0BE6, 0x0C66, 0x0CE6,
    0x0D66, 0x0DE6, 0x0E50, 0x0ED0, 0x0F20, 0x1040, 0x1090, 0x17E0, 0x1810, 0x1946, 0x19D0, 0x1A80,
    0x1A90, 0x1B50, 0x1BB0, 0x1C40, 0x1C50, 0xA620, 0xA8D0, 0xA900, 0xA9D0, 0xA9F0, 0xAA50, 0xABF0,
    0xFF10, 0x104A0, 0x10D30, 0x10D40, 0x11066, 0x110F0, 0x11136, 0x111D0, 0x112F0, 0x11450,
    0x114D0, 0x11650, 0x116C0, 0x116D0, 0x116DA, 0x11730, 0x118E0, 0x11950, 0x11BF0, 0x11C50,
    0x11D50, 0x11DA0, 0x11F50, 0x16130, 0x16A60, 0x16AC0, 0x16B50, 0x16D70, 0x1CCF0, 0x1D7CE,
    0x1E140, 0x1E2F0, 0x1E4F0, 0x1E5F1, 0x1E950,
];

/// Returns the value of a decimal digit of any script.
pub(crate) fn decimal_digit(c: char) -> Option<u8> {
    if c.is_ascii() {
        return c.is_ascii_digit().then(|| c as u8 - b'0');
    }
    let code = c as u32;
    // The mathematical digits are five blocks in a row, U+1D7CE to U+1D7FF.
    if (0x1D7CE..=0x1D7FF).contains(&code) {
        return u8::try_from((code - 0x1D7CE) % 10).ok();
    }
    if (0x1FBF0..=0x1FBF9).contains(&code) {
        return u8::try_from(code - 0x1FBF0).ok();
    }
    let block = ZEROES
        .partition_point(|&zero| zero <= code)
        .checked_sub(1)?;
    let value = code - ZEROES[block];
    (value < 10).then(|| u8::try_from(value).ok()).flatten()
}

/// Matches `\w` of the pre-tokenizer.
pub(crate) fn is_word(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric() || c == '_';
    }
    c.is_alphabetic()
        || is_combining_mark(c)
        || decimal_digit(c).is_some()
        || matches!(
            c,
            '\u{203F}' | '\u{2040}' | '\u{2054}' | '\u{FE33}' | '\u{FE34}' | '\u{FE4D}'
                ..='\u{FE4F}' | '\u{FF3F}' | '\u{200C}' | '\u{200D}'
        )
}

/// Yields the pieces of `text` in order; white space is between them.
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start();
        let word = is_word(rest.chars().next()?);
        let end = rest
            .find(|c: char| c.is_whitespace() || is_word(c) != word)
            .unwrap_or(rest.len());
        let (piece, after) = rest.split_at(end);
        rest = after;
        Some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str) -> Vec<&str> {
        words(text).collect()
    }

    #[test]
    fn words_and_marks_are_separate_pieces() {
        assert_eq!(
            cut("it's 5:30, ok?!"),
            ["it", "'", "s", "5", ":", "30", ",", "ok", "?!"]
        );
        assert_eq!(cut("  a\tb\n"), ["a", "b"]);
        assert_eq!(cut(""), [""; 0]);
    }

    #[test]
    fn the_half_space_stays_inside_its_word() {
        assert_eq!(cut("می\u{200C}روم، خب"), ["می\u{200C}روم", "،", "خب"]);
        assert_eq!(cut("x² e\u{301}"), ["x", "²", "e\u{301}"]);
    }

    #[test]
    fn digits_of_every_script_have_values() {
        assert_eq!(decimal_digit('۷'), Some(7));
        assert_eq!(decimal_digit('٩'), Some(9));
        assert_eq!(decimal_digit('9'), Some(9));
        assert_eq!(decimal_digit('𝟿'), Some(9));
        assert_eq!(decimal_digit('²'), None);
        assert_eq!(decimal_digit('x'), None);
    }
}
