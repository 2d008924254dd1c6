//! One character for each letter, whatever keyboard it came from.

use unicode_normalization::UnicodeNormalization;

use super::{Diacritics, ZWNJ, is_mark};

const HAMZA_ABOVE: char = '\u{0654}';

/// Unifies letters and digits; removes what cannot be seen or heard.
pub(super) fn unify(text: &str, diacritics: Diacritics) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_presentation_form(c) {
            // A shape, not a letter: ﻻ is لا, ﷲ is الله, ﷼ is ریال.
            for c in std::iter::once(c).nfkc() {
                push(&mut out, c, diacritics);
            }
        } else {
            push(&mut out, c, diacritics);
        }
    }
    out
}

/// Returns whether a character is in Arabic presentation forms A or B, ornate
/// brackets aside.
fn is_presentation_form(c: char) -> bool {
    matches!(c, '\u{FB50}'..='\u{FDFF}' | '\u{FE70}'..='\u{FEFC}')
        && !matches!(c, '\u{FD3E}' | '\u{FD3F}')
}

fn push(out: &mut String, c: char, diacritics: Diacritics) {
    match c {
        'ي' | 'ى' | 'ې' | 'ے' | 'ۍ' => out.push('ی'),
        'ك' | 'ڪ' | 'ګ' => out.push('ک'),
        'ھ' | 'ہ' | 'ە' | 'ۃ' | 'ة' => out.push('ه'),
        // The ezafe after ه, in its two precomposed forms.
        'ۀ' | 'ۂ' => out.extend(['ه', ZWNJ, 'ی']),
        'إ' | 'ٱ' => out.push('ا'),
        HAMZA_ABOVE => match out.chars().next_back() {
            Some('ه') => out.extend([ZWNJ, 'ی']),
            Some('ی') => {
                out.pop();
                out.push('ئ');
            }
            // Composition has joined it to every other letter that takes one.
            _ => {}
        },
        // Tatweel stretches a word on paper; the rest steers a line of print.
        '\u{0640}'
        | '\u{200D}'
        | '\u{200E}'
        | '\u{200F}'
        | '\u{061C}'
        | '\u{202A}'..='\u{202E}'
        | '\u{2060}'
        | '\u{2066}'..='\u{2069}'
        | '\u{FEFF}' => {}
        // Characters that other programs write for a half-space.
        '\u{200B}' | '\u{00AC}' | '\u{00AD}' => out.push(ZWNJ),
        c if is_mark(c) => {
            if diacritics == Diacritics::Keep {
                out.push(c);
            }
        }
        c => match arabic_digit(c) {
            Some(digit) => out.push(digit),
            None => out.push(c),
        },
    }
}

/// Returns the ASCII digit of a Persian or Arabic one.
fn arabic_digit(c: char) -> Option<char> {
    let value = match c {
        '\u{06F0}'..='\u{06F9}' => c as u32 - 0x06F0,
        '\u{0660}'..='\u{0669}' => c as u32 - 0x0660,
        _ => return None,
    };
    char::from_digit(value, 10)
}
