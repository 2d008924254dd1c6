//! Numbers in Persian text, after the digits are ASCII.

use super::{ZWNJ, is_letter};
use crate::clean::words::fa as words;
use crate::clean::{Gap, Gaps};

const PERCENT: &str = "درصد";

/// Symbols of money, and how they are said. The words ریال and تومان need
/// nothing: they stand after the number and are said there.
const CURRENCIES: [(char, &str); 4] = [('$', "دلار"), ('€', "یورو"), ('£', "پوند"), ('﷼', "ریال")];

/// Written endings of an ordinal, the longer first.
const ATTRIBUTIVE: [&str; 2] = ["امین", "مین"];
const PLAIN: [&str; 2] = ["ام", "م"];

/// A number as it is written.
struct Written<'t> {
    whole: &'t str,
    fraction: Option<&'t str>,
    /// The number of bytes of the text that belong to it.
    length: usize,
}

pub(super) fn expand(text: &str, gaps: &mut Gaps<'_>) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let after_sign = &rest[c.len_utf8()..];
        let currency = CURRENCIES
            .iter()
            .find(|(sign, _)| *sign == c)
            .map(|(_, name)| *name);
        let number_follows = after_sign
            .trim_start()
            .starts_with(|c: char| c.is_ascii_digit());

        if c.is_ascii_digit()
            && let Some(chain) = dotted(rest)
        {
            let parts: Vec<&str> = chain.split('.').collect();
            for (at, part) in parts.iter().enumerate() {
                if at > 0 {
                    out.push('.');
                }
                speak(&mut out, part, None, gaps);
            }
            rest = &rest[chain.len()..];
            if rest.starts_with(char::is_alphanumeric) {
                out.push(' ');
            }
        } else if c.is_ascii_digit() {
            rest = speak(&mut out, rest, None, gaps);
        } else if let Some(name) = currency {
            if number_follows {
                rest = speak(&mut out, after_sign.trim_start(), Some(name), gaps);
            } else {
                word(&mut out, name);
                rest = after_sign;
            }
        } else if matches!(c, '-' | '−') && is_minus(&out, after_sign) {
            word(&mut out, "منفی");
            rest = after_sign;
        } else if matches!(c, '%' | '٪') {
            word(&mut out, PERCENT);
            rest = after_sign;
        } else {
            out.push(c);
            rest = after_sign;
        }
    }
    out
}

/// Returns whether a hyphen is a minus: at the start of a word, with a digit after it.
fn is_minus(before: &str, after: &str) -> bool {
    after.starts_with(|c: char| c.is_ascii_digit())
        && before
            .chars()
            .next_back()
            .is_none_or(|c| c.is_whitespace() || c == '(')
}

/// Appends a word with spaces around it.
fn word(out: &mut String, text: &str) {
    if out
        .chars()
        .next_back()
        .is_some_and(|c| c.is_alphanumeric() || c == ZWNJ)
    {
        out.push(' ');
    }
    out.push_str(text);
    out.push(' ');
}

/// Says the number at the start of `text`, and returns what comes after it.
fn speak<'t>(
    out: &mut String,
    text: &'t str,
    currency: Option<&str>,
    gaps: &mut Gaps<'_>,
) -> &'t str {
    let written = scan(text);
    let mut rest = &text[written.length..];
    let digits = written.whole.replace([',', '٬'], "");

    let mut currency = currency;
    let spoken = match (written.fraction, ordinal_ending(rest)) {
        (Some(fraction), _) => digits
            .parse()
            .ok()
            .and_then(|n| words::decimal(n, fraction)),
        (None, Some((attributive, used))) if currency.is_none() => {
            rest = &rest[used..];
            let ordinal = if attributive {
                words::ordinal_attributive
            } else {
                words::ordinal
            };
            digits.parse().ok().and_then(ordinal)
        }
        (None, _) => cardinal(&digits),
    };
    match spoken {
        Some(spoken) => word(out, &spoken),
        None => {
            gaps.report(Gap::NumberWords, &text[..written.length]);
            word(out, &text[..written.length]);
        }
    }
    if currency.is_none()
        && let Some((sign, name)) = CURRENCIES.iter().find(|(sign, _)| rest.starts_with(*sign))
    {
        currency = Some(name);
        rest = &rest[sign.len_utf8()..];
    }
    if let Some(name) = currency {
        word(out, name);
    }
    // The word ended with a space; a mark of punctuation wants none before it.
    let next = rest.chars().next();
    if next.is_none_or(|c| c != ZWNJ && !c.is_alphanumeric() && !"%٪$€£﷼".contains(c)) {
        out.pop();
    }
    rest.strip_prefix(ZWNJ).unwrap_or(rest)
}

/// Says a number; one that names something, such as a telephone, is said digit by digit.
fn cardinal(digits: &str) -> Option<String> {
    let names_something = digits.len() >= 3 && digits.starts_with('0') || digits.len() > 18;
    if !names_something {
        return words::cardinal(digits.parse().ok()?);
    }
    let spoken: Option<Vec<String>> = digits
        .bytes()
        .map(|b| words::cardinal(u128::from(b.saturating_sub(b'0'))))
        .collect();
    Some(spoken?.join(" "))
}

/// Reads digits, perhaps in groups of three, perhaps with a fraction. `text` starts
/// with a digit.
fn scan(text: &str) -> Written<'_> {
    let digits = |from: usize| text[from..].bytes().take_while(u8::is_ascii_digit).count();
    let mut end = digits(0);
    if end <= 3 {
        let mut grouped = end;
        while let Some(separator) = text[grouped..]
            .chars()
            .next()
            .filter(|c| matches!(c, ',' | '٬'))
        {
            let from = grouped + separator.len_utf8();
            if digits(from) != 3 {
                break;
            }
            grouped = from + 3;
        }
        end = grouped;
    }
    let whole = &text[..end];
    let point = text[end..]
        .chars()
        .next()
        .filter(|c| matches!(c, '.' | '٫'));
    if let Some(point) = point {
        let from = end + point.len_utf8();
        let length = digits(from);
        if length > 0 {
            return Written {
                whole,
                fraction: Some(&text[from..from + length]),
                length: from + length,
            };
        }
    }
    Written {
        whole,
        fraction: None,
        length: end,
    }
}

/// Finds a date or a version at the start of `text`: digits with two points or more
/// between them. The parts are said one by one and the points stay.
fn dotted(text: &str) -> Option<&str> {
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let chain = text[..end].trim_end_matches('.');
    let parts = chain.split('.').count();
    (parts >= 3 && chain.split('.').all(|part| !part.is_empty())).then_some(chain)
}

/// Returns the kind (attributive or not) and the length of an ordinal ending that follows:
/// ۵م، ۵‌م، ۳۰ام، ۲مین.
fn ordinal_ending(after: &str) -> Option<(bool, usize)> {
    let bare = after.trim_start_matches([ZWNJ, '-']);
    let skipped = after.len() - bare.len();
    let ends = |ending: &&&str| {
        bare.strip_prefix(**ending)
            .is_some_and(|rest| !rest.starts_with(|c: char| is_letter(c) || c == ZWNJ))
    };
    if let Some(ending) = ATTRIBUTIVE.iter().find(ends) {
        return Some((true, skipped + ending.len()));
    }
    PLAIN
        .iter()
        .find(ends)
        .map(|ending| (false, skipped + ending.len()))
}
