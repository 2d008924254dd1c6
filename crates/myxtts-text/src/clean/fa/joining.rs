//! The half-space: where it goes, and where it does nothing.
//!
//! A half-space stays only *inside* a word and only after a letter that would
//! otherwise join the next: after ا د ذ ر ز ژ و it changes nothing on paper, so
//! «کار‌ها» and «کارها» become one spelling, the shorter.

use super::{PersianOptions, ZWNJ, is_letter, is_mark};

const PREFIXES: [&str; 2] = ["می", "نمی"];

const SUFFIXES: [&str; 20] = [
    "ها",
    "های",
    "هایی",
    "هایم",
    "هایت",
    "هایش",
    "هایمان",
    "هایتان",
    "هایشان",
    "هام",
    "هات",
    "هاش",
    "هامون",
    "هاتون",
    "هاشون",
    "تر",
    "ترین",
    "تری",
    "ترها",
    "ترین‌ها",
];

/// Returns whether a letter never joins the one after it.
fn never_joins(c: char) -> bool {
    matches!(
        c,
        'ا' | 'آ' | 'أ' | 'إ' | 'د' | 'ذ' | 'ر' | 'ز' | 'ژ' | 'و' | 'ؤ' | 'ء'
    )
}

/// Joins prefixes and suffixes to their words. `text` has single spaces between words.
pub(super) fn join(text: &str, options: &PersianOptions) -> String {
    let mut out = String::with_capacity(text.len());
    // The word before, as long as it stands alone; what was glued is complete.
    let (mut previous, mut glued) = ("", false);
    for word in text.split(' ') {
        let (core, _) = split_mark(word);
        let glue = starts_with_letter(word)
            && (options.join_prefixes && !glued && PREFIXES.contains(&previous)
                || options.join_suffixes && is_suffix(core, previous, glued));
        if !out.is_empty() {
            out.push(if glue { ZWNJ } else { ' ' });
        }
        out.push_str(word);
        (previous, glued) = (word, glue);
    }
    tidy(&out)
}

fn starts_with_letter(word: &str) -> bool {
    word.chars().next().is_some_and(is_letter)
}

/// Splits a word into the letters it starts with and the marks after them.
fn split_mark(word: &str) -> (&str, &str) {
    let end = word
        .find(|c: char| !is_letter(c) && !is_mark(c) && c != ZWNJ)
        .unwrap_or(word.len());
    word.split_at(end)
}

/// Returns whether `core` is a suffix of the word before it.
fn is_suffix(core: &str, previous: &str, glued: bool) -> bool {
    let Some(last) = previous
        .chars()
        .next_back()
        .filter(|c| is_letter(*c) || is_mark(*c))
    else {
        return false;
    };
    // After a suffix that stands alone it is not one: ها ها is laughter.
    let alone = !glued && SUFFIXES.contains(&previous);
    !alone && SUFFIXES.contains(&core) || core == "ی" && last == 'ه'
}

/// Drops every half-space that does nothing.
pub(super) fn tidy(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut pending = false;
    for c in text.chars() {
        if c == ZWNJ {
            pending = true;
            continue;
        }
        if pending {
            pending = false;
            let last = out.chars().rev().find(|c| !is_mark(*c));
            if is_letter(c) && last.is_some_and(|last| is_letter(last) && !never_joins(last)) {
                out.push(ZWNJ);
            }
        }
        out.push(c);
    }
    out
}
