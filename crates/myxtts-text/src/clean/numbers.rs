//! Numbers as the reference finds them, in its order: thousands separators removed,
//! money, decimals, ordinals, and whatever digits are left.
//!
//! Each pass is a scanner for one of its patterns, quoted above it.

use super::pattern::{is_boundary, is_space, is_word};
use super::words::float::Float;
use super::words::{self, Currency, Money, MoneyWords, Words};
use super::{Gap, Gaps};
use crate::bpe::words::decimal_digit;

/// The noncharacter that holds a 0: digits that must survive the passes to come are
/// written with this one and the nine after it meanwhile. A text has no business
/// holding any.
const HELD: u32 = 0xFDD0;

pub(super) fn expand(text: &str, language: &str, gaps: &mut Gaps<'_>) -> String {
    if !text.bytes().any(|b| b.is_ascii_digit()) {
        return text.to_owned();
    }
    let Some(words) = words::of(language) else {
        for number in text
            .split(|c: char| !c.is_ascii_digit())
            .filter(|run| !run.is_empty())
        {
            gaps.report(Gap::NumberWords, number);
        }
        return text.to_owned();
    };
    let mut text: String = text
        .chars()
        .map(|c| {
            if (HELD..HELD + 10).contains(&(c as u32)) {
                '\u{FFFD}'
            } else {
                c
            }
        })
        .collect();
    text = match language {
        "en" | "ru" => without_separators(&text, ',', '.', Separator::Itself),
        _ => without_separators(&text, '.', ',', Separator::Anything),
    };
    for currency in [Currency::Pound, Currency::Dollar, Currency::Euro] {
        // One failure ends the loop and leaves this currency undone.
        match money(&text, currency, language, words, gaps) {
            Some(expanded) => text = expanded,
            None => break,
        }
    }
    if language != "tr" {
        text = decimals(&text, words, gaps);
    }
    text = ordinals(&text, language, words, gaps);
    text = cardinals(&text, words, gaps);
    release(&text)
}

fn hold(text: &str) -> String {
    text.chars()
        .map(|c| match c.to_digit(10) {
            Some(digit) => char::from_u32(HELD + digit).unwrap_or(c),
            None => c,
        })
        .collect()
}

fn release(text: &str) -> String {
    text.chars()
        .map(|c| match (c as u32).checked_sub(HELD) {
            Some(digit @ 0..10) => char::from_digit(digit, 10).unwrap_or(c),
            _ => c,
        })
        .collect()
}

#[derive(Clone, Copy, PartialEq)]
enum Separator {
    Itself,
    /// Any character but a newline: the reference forgot to escape the dot.
    Anything,
}

/// Removes thousands separators. The pattern is `\b\d{1,3}(,\d{3})*(\.\d+)?\b` for
/// English and Russian, and `\b\d{1,3}(.\d{3})*(\,\d+)?\b` for the rest; `removed`
/// is taken out of each match.
fn without_separators(text: &str, removed: char, point: char, separator: Separator) -> String {
    let chars: Vec<char> = text.chars().collect();
    let is_digit = |at: usize| chars.get(at).is_some_and(|&c| decimal_digit(c).is_some());
    let digits_from = |at: usize| (at..).take_while(|&at| is_digit(at)).count();
    let ends_here = |at: usize| {
        is_boundary(
            at.checked_sub(1).map(|at| chars[at]),
            chars.get(at).copied(),
        )
    };
    let is_group = |at: usize| {
        let opens = match separator {
            Separator::Itself => chars.get(at) == Some(&removed),
            Separator::Anything => chars.get(at).is_some_and(|&c| c != '\n'),
        };
        opens && (1..=3).all(|step| is_digit(at + step))
    };
    // The longest match at `start`, as a backtracking engine would find it.
    let find = |start: usize| {
        for first in (1..=digits_from(start).min(3)).rev() {
            let mut groups = 0;
            while is_group(start + first + 4 * groups) {
                groups += 1;
            }
            for kept in (0..=groups).rev() {
                let end = start + first + 4 * kept;
                if chars.get(end) == Some(&point) && is_digit(end + 1) {
                    let after = end + 1 + digits_from(end + 1);
                    if ends_here(after) {
                        return Some(after);
                    }
                }
                if ends_here(end) {
                    return Some(end);
                }
            }
        }
        None
    };
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        let starts = is_digit(at)
            && !at
                .checked_sub(1)
                .is_some_and(|before| is_word(chars[before]));
        match starts.then(|| find(at)).flatten() {
            Some(end) => {
                out.extend(chars[at..end].iter().filter(|&&c| c != removed));
                at = end;
            }
            None => {
                out.push(chars[at]);
                at += 1;
            }
        }
    }
    out
}

/// Says amounts of money: `(£[0-9.,]*[0-9]+)|([0-9.,]*[0-9]+£)`. Returns `None`
/// when one of the matches makes the reference give up.
fn money(
    text: &str,
    currency: Currency,
    language: &str,
    words: &Words,
    gaps: &mut Gaps<'_>,
) -> Option<String> {
    let symbol = match currency {
        Currency::Pound => '£',
        Currency::Dollar => '$',
        Currency::Euro => '€',
    };
    if !text.contains(symbol) {
        return Some(text.to_owned());
    }
    let mut out = String::with_capacity(text.len() + 32);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let (amount, matched) = match sum_at(rest, c, symbol) {
            Sum::Found { amount, matched } => (amount, matched),
            Sum::Absent { skip } => {
                out += &rest[..skip];
                rest = &rest[skip..];
                continue;
            }
        };
        let value = Float::parse(&amount.replace(',', "."))?;
        let spoken = match value.cents() {
            Some((whole, cents)) => (words.money)(Money {
                currency,
                whole,
                cents,
            }),
            None => MoneyWords::Unsupported,
        };
        match spoken {
            MoneyWords::Words(words) => out += without_cents(&words, value, language),
            MoneyWords::NotInReference => return None,
            MoneyWords::Unsupported => {
                gaps.report(Gap::NumberWords, &rest[..matched]);
                out += &hold(&rest[..matched]);
            }
        }
        rest = &rest[matched..];
    }
    Some(out)
}

/// Whether a sum of money stands at the beginning of a text.
enum Sum<'t> {
    /// It does: the digits of `amount`, in `matched` bytes with the symbol.
    Found { amount: &'t str, matched: usize },
    /// It does not, and no match starts anywhere in the first `skip` bytes.
    Absent { skip: usize },
}

/// Looks for a sum where `rest` begins, which is with the character `first`.
fn sum_at(rest: &str, first: char, symbol: char) -> Sum<'_> {
    let is_part = |c: char| c.is_ascii_digit() || c == '.' || c == ',';
    let sign_first = first == symbol;
    let from = if sign_first { first.len_utf8() } else { 0 };
    let run = &rest[from..];
    let run = &run[..run.find(|c| !is_part(c)).unwrap_or(run.len())];
    let after = &rest[from + run.len()..];
    let amount = if sign_first {
        run.rfind(|c: char| c.is_ascii_digit())
            .map(|last| &run[..=last])
    } else {
        let whole = run.ends_with(|c: char| c.is_ascii_digit()) && after.starts_with(symbol);
        whole.then_some(run)
    };
    match amount {
        // The symbol is as long on either side.
        Some(amount) => Sum::Found {
            amount,
            matched: amount.len() + symbol.len_utf8(),
        },
        None => Sum::Absent {
            skip: (from + run.len()).max(first.len_utf8()),
        },
    }
}

/// Cuts a whole amount at the last joiner. What follows is meant to be the "zero
/// cents" and sometimes is not: Portuguese "120€" ends as "cento".
fn without_cents<'w>(words: &'w str, value: Float, language: &str) -> &'w str {
    let joiner = match language {
        "es" => " con ",
        "fr" => " et ",
        "de" => " und ",
        "pt" | "it" => " e ",
        _ => ", ",
    };
    match words.rfind(joiner) {
        Some(end) if value.is_whole() => &words[..end],
        _ => words,
    }
}

/// Replaces runs of ASCII digits, leftmost first. `expand` sees the run and what
/// follows it, and returns the replacement and how many bytes of what follows it
/// used.
fn each_run(text: &str, mut expand: impl FnMut(&str, &str) -> Option<(String, usize)>) -> String {
    let mut out = String::with_capacity(text.len() + 32);
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        out += &rest[..start];
        rest = &rest[start..];
        let end = rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        match expand(run, after) {
            Some((replacement, used)) => {
                out += &replacement;
                rest = &after[used..];
            }
            None => {
                out += run;
                rest = after;
            }
        }
    }
    out + rest
}

/// Says decimals, as `[0-9]+[.,][0-9]+` finds them.
fn decimals(text: &str, words: &Words, gaps: &mut Gaps<'_>) -> String {
    each_run(text, |run, after| {
        let fraction = after.strip_prefix(['.', ','])?;
        let end = fraction
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(fraction.len());
        let fraction = &fraction[..end];
        if fraction.is_empty() {
            return None;
        }
        let value = Float::parse(&format!("{run}.{fraction}"));
        let used = 1 + fraction.len();
        let spoken = value.and_then(words.decimal).unwrap_or_else(|| {
            let written = format!("{run}{}", &after[..used]);
            gaps.report(Gap::NumberWords, &written);
            hold(&written)
        });
        Some((spoken, used))
    })
}

/// Returns the endings of written ordinals, to be tried in order.
fn ordinal_endings(language: &str) -> &'static [&'static str] {
    match language {
        "en" => &["st", "nd", "rd", "th"],
        "es" => &["º", "ª", "er", "o", "a", "os", "as"],
        "fr" => &["º", "ª", "er", "re", "e", "ème"],
        "de" => &["st", "nd", "rd", "th", "º", "ª", ". "],
        "pt" => &["º", "ª", "o", "a", "os", "as"],
        "it" => &["º", "°", "ª", "o", "a", "i", "e"],
        "pl" => &["º", "ª", "st", "nd", "rd", "th"],
        "cs" => &[". "],
        "ru" => &["-й", "-я", "-е", "-ое", "-ье", "-го"],
        "nl" => &["de", "ste", "e"],
        "hu" => &[".", "adik", "edik", "odik", "ödik", "ik"],
        "tr" => &[".", "inci", "nci", "uncu", "üncü"],
        _ => &[],
    }
}

fn ordinals(text: &str, language: &str, words: &Words, gaps: &mut Gaps<'_>) -> String {
    let endings = ordinal_endings(language);
    each_run(text, |run, after| {
        let used = endings.iter().find_map(|&ending| match ending {
            // A dot that ends a word: followed by space, or by nothing.
            ". " => {
                let next = after.strip_prefix('.')?.chars().next();
                next.is_none_or(is_space).then_some(1)
            }
            _ => after.starts_with(ending).then_some(ending.len()),
        })?;
        let spoken = run.parse().ok().and_then(words.ordinal).unwrap_or_else(|| {
            let written = format!("{run}{}", &after[..used]);
            gaps.report(Gap::OrdinalWords, &written);
            hold(&written)
        });
        Some((spoken, used))
    })
}

/// Says the digits that are left, as `[0-9]+` finds them.
fn cardinals(text: &str, words: &Words, gaps: &mut Gaps<'_>) -> String {
    each_run(text, |run, _| {
        let spoken = run
            .parse()
            .ok()
            .and_then(words.cardinal)
            .unwrap_or_else(|| {
                gaps.report(Gap::NumberWords, run);
                hold(run)
            });
        Some((spoken, 0))
    })
}
