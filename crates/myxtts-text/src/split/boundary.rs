//! Where a text may be cut, from the kindest place to the least.

use unicode_normalization::char::is_combining_mark;

use crate::Language;

/// Characters that may close a sentence after its mark.
pub(super) const CLOSERS: [char; 7] = ['"', '\'', '”', '’', '»', ')', ']'];

/// The kinds of places to cut at, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    Sentence,
    Clause,
    Space,
    Anywhere,
}

impl Level {
    pub(super) fn below(self) -> Option<Self> {
        match self {
            Self::Sentence => Some(Self::Clause),
            Self::Clause => Some(Self::Space),
            Self::Space => Some(Self::Anywhere),
            Self::Anywhere => None,
        }
    }
}

/// English words whose dot does not end a sentence, lower case.
const ENGLISH: [&str; 44] = [
    "mrs", "mr", "ms", "dr", "st", "co", "jr", "sr", "maj", "gen", "drs", "rev", "lt", "hon",
    "sgt", "capt", "esq", "ltd", "col", "ft", "prof", "vs", "etc", "inc", "no", "fig", "vol",
    "approx", "dept", "est", "e.g", "i.e", "a.m", "p.m", "u.s", "u.k", "jan", "feb", "aug", "sept",
    "oct", "nov", "dec", "messrs",
];

/// Titles of other languages, lower case.
const OTHERS: [&str; 17] = [
    "dr", "st", "sr", "sra", "dra", "jr", "prof", "sig", "mme", "fr", "hr", "ing", "dhr", "mevr",
    "bzw", "usw", "z.b",
];

/// Returns the ends of the parts of `text` at a level; the last is the end of the text.
pub(super) fn ends(text: &str, level: Level, language: &Language) -> Vec<usize> {
    let mut ends: Vec<usize> = Vec::new();
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let mut end = at + c.len_utf8();
        let is_end = match level {
            Level::Sentence => ends_sentence(text, at, c, language),
            Level::Clause => ends_clause(text, at, c),
            Level::Space => c.is_whitespace(),
            Level::Anywhere => false,
        };
        if !is_end {
            continue;
        }
        // What closes or repeats the mark belongs to it.
        while let Some(&(next_at, next)) = chars.peek() {
            let belongs =
                level != Level::Space && (is_ender(next) || CLOSERS.contains(&next) || next == '.');
            if !belongs {
                break;
            }
            end = next_at + next.len_utf8();
            chars.next();
        }
        ends.push(end);
    }
    if ends.last() != Some(&text.len()) {
        ends.push(text.len());
    }
    ends
}

/// Returns whether a mark ends a sentence whatever follows.
pub(super) fn is_ender(c: char) -> bool {
    matches!(
        c,
        '!' | '?' | '؟' | '。' | '！' | '？' | '｡' | '।' | '॥' | '۔'
    )
}

fn ends_sentence(text: &str, at: usize, c: char, language: &Language) -> bool {
    if is_ender(c) || c == '\n' {
        return true;
    }
    if !matches!(c, '.' | '…') {
        return false;
    }
    let (before, after) = (&text[..at], &text[at + c.len_utf8()..]);
    let rest = after.trim_start_matches(|c: char| CLOSERS.contains(&c) || matches!(c, '.' | '…'));
    if !rest.is_empty() && !rest.starts_with(char::is_whitespace) {
        return false;
    }
    if rest.trim_start().is_empty() || c == '…' {
        return true;
    }
    !is_abbreviation(before, language)
}

/// Returns whether the dot after `before` belongs to an abbreviation or an ordinal.
fn is_abbreviation(before: &str, language: &Language) -> bool {
    let start = before
        .rfind(|c: char| c.is_whitespace() || "(\"'“«".contains(c))
        .map_or(0, |at| {
            at + before[at..].chars().next().map_or(1, char::len_utf8)
        });
    let word = &before[start..];
    let lower = word.to_lowercase();
    let base = language.base();
    // "1. Test" is an ordinal in these languages.
    if matches!(base, "de" | "cs" | "tr" | "hu" | "pl")
        && !word.is_empty()
        && word.chars().all(|c| c.is_ascii_digit())
    {
        return true;
    }
    // An initial, as in "J. Smith".
    let mut letters = word.chars();
    let initial = letters.next().is_some_and(char::is_uppercase) && letters.next().is_none();
    let known: &[&str] = if base == "en" { &ENGLISH } else { &OTHERS };
    // "I." ends more sentences than it shortens.
    initial && word != "I" || known.contains(&lower.as_str())
}

pub(super) fn ends_clause(text: &str, at: usize, c: char) -> bool {
    match c {
        ';' | '،' | '؛' | '、' | '，' | '；' | '：' | '—' | '–' => true,
        // Not inside 1,234 or 5:30.
        ',' | ':' => {
            let next = text[at + c.len_utf8()..].chars().next();
            !next.is_some_and(char::is_alphanumeric)
        }
        _ => false,
    }
}

/// Returns whether a word may be cut between `before` and `after`.
pub(super) fn may_cut(before: &str, after: &str) -> bool {
    let (Some(left), Some(right)) = (before.chars().next_back(), after.chars().next()) else {
        return true;
    };
    let in_number = left.is_numeric() && right.is_numeric();
    let in_letter = is_combining_mark(right) || matches!(right, '\u{200C}' | '\u{200D}');
    !in_number && !in_letter
}
