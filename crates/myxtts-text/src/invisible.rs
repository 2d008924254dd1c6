//! Characters that nobody sees and nobody says.
//!
//! Text that was copied from a page or a terminal carries them: marks that
//! steer the direction of a line, soft hyphens, byte-order marks, escape
//! sequences. A vocabulary knows none of them, and a model would be told that
//! something unknown stands in the middle of a word.

use std::borrow::Cow;

/// Returns a text without what cannot be seen. Control characters, which separate
/// what stands around them, become spaces; marks inside a line go without a trace.
/// The joiners of Persian and Indic scripts stay: they are spelling.
pub fn without_invisible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(|c| is_control(c) || is_mark(c)) {
        return Cow::Borrowed(text);
    }
    let seen = text.chars().filter(|c| !is_mark(*c));
    Cow::Owned(seen.map(|c| if is_control(c) { ' ' } else { c }).collect())
}

fn is_control(c: char) -> bool {
    c.is_control() && !c.is_whitespace()
}

/// Returns whether a character is a direction mark, a soft hyphen, a word joiner, a
/// byte-order mark, an annotation or a tag.
fn is_mark(c: char) -> bool {
    matches!(
        c,
        '\u{00AD}'
            | '\u{061C}'
            | '\u{200E}'
            | '\u{200F}'
            | '\u{202A}'..='\u{202E}'
            | '\u{2060}'..='\u{206F}'
            | '\u{FEFF}'
            | '\u{FFF9}'..='\u{FFFB}'
            | '\u{E0000}'..='\u{E007F}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_seen_stays() {
        for text in [
            "",
            "Hello, world.\n\tNext",
            "می\u{200C}روم",
            "👩\u{200D}🚀",
            "ñ…",
        ] {
            assert!(
                matches!(without_invisible(text), Cow::Borrowed(_)),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_not_seen_goes() {
        let text = "\u{FEFF}Hel\u{AD}lo\u{200F} \u{202E}there\u{202C}\0now\u{1b}[0m\u{7}";
        assert_eq!(without_invisible(text), "Hello there now [0m ");
    }
}
