//! Marks of punctuation: one of each kind, and spaces where they belong.

use super::{Punctuation, ZWNJ, is_letter};

/// Returns what a mark is written as; `None` leaves it out.
fn unified(c: char, style: Punctuation) -> Option<char> {
    let persian = style == Punctuation::Persian;
    Some(match c {
        '«' | '»' | '"' | '“' | '”' | '„' | '‟' | '‹' | '›' | '‘' | '‚' => {
            return None;
        }
        '’' | 'ʼ' | '`' | '´' => '\'',
        '،' | '、' | '٬' if persian => '،',
        '،' | '、' | '٬' => ',',
        '؛' => {
            if persian {
                '؛'
            } else {
                ';'
            }
        }
        '؟' | '⸮' => {
            if persian {
                '؟'
            } else {
                '?'
            }
        }
        ',' if persian => '،',
        ';' if persian => '؛',
        '?' if persian => '؟',
        '٫' | '۔' | '。' => '.',
        '–' | '—' | '‑' | '−' | '‒' | '―' => '-',
        '[' | '{' | '﴿' | '〈' | '【' => '(',
        ']' | '}' | '﴾' | '〉' | '】' => ')',
        c => c,
    })
}

/// Returns whether a mark stands at the end of what it belongs to.
fn closes(c: char) -> bool {
    matches!(c, ',' | ';' | '?' | '!' | '.' | ':' | ')' | '،' | '؛' | '؟')
}

/// Unifies the marks. A closing mark has no space before it, and one after it when
/// a Persian letter follows; runs of `!`, `?` and dots are shortened.
pub(super) fn unify(text: &str, style: Punctuation) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c == '…' {
            trim_before_mark(&mut out);
            out.push_str("...");
            continue;
        }
        let Some(c) = unified(c, style) else { continue };
        if closes(c) {
            trim_before_mark(&mut out);
            let again = out.ends_with(c);
            match c {
                '.' if out.ends_with("...") => continue,
                '!' | '?' | '؟' | ',' | '،' | ';' | '؛' if again => continue,
                _ => {}
            }
        } else if c == ZWNJ && out.ends_with(|c: char| !is_letter(c) && !super::is_mark(c)) {
            continue;
        } else if is_letter(c) && out.ends_with([',', ';', '?', '!', '،', '؛', '؟', ')']) {
            out.push(' ');
        }
        out.push(c);
    }
    // Four or more dots in a row, from «….» and the like.
    while out.contains("....") {
        out = out.replace("....", "...");
    }
    out
}

fn trim_before_mark(out: &mut String) {
    let kept = out
        .trim_end_matches(|c: char| c.is_whitespace() || c == ZWNJ)
        .len();
    // At the start of the text there is nothing for the mark to lean on.
    if kept > 0 {
        out.truncate(kept);
    }
}
