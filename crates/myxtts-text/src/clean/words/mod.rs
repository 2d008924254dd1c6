//! Numbers in words, one file per language.
//!
//! The measure is Python's `num2words` 0.5.14, which the reference uses, with its
//! faults: the test below compares every language with a table made by it. A
//! language returns `None` where its rules have not been compared, and the caller
//! reports that; nothing is guessed.

pub(super) mod cs;
pub(super) mod de;
pub(super) mod en;
pub(super) mod es;
pub(super) mod fa;
pub(super) mod float;
pub(super) mod fr;
pub(super) mod hu;
pub(super) mod it;
pub(super) mod nl;
pub(super) mod pl;
pub(super) mod pt;
pub(super) mod ru;
mod slavic;
pub(super) mod tr;

use float::Float;

/// The three currencies the reference knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Currency {
    Pound,
    Dollar,
    Euro,
}

/// An amount of money, in units and cents.
#[derive(Clone, Copy, Debug)]
pub(super) struct Money {
    pub(super) currency: Currency,
    pub(super) whole: u128,
    pub(super) cents: u8,
}

/// How a language says an amount of money.
#[derive(Debug)]
pub(super) enum MoneyWords {
    Words(String),
    /// `num2words` has no such currency: the reference leaves the text to the
    /// later steps, and so do we.
    NotInReference,
    /// The reference has the words, and we do not.
    Unsupported,
}

impl From<Option<String>> for MoneyWords {
    fn from(words: Option<String>) -> Self {
        words.map_or(Self::Unsupported, Self::Words)
    }
}

/// The number words of a language.
pub(super) struct Words {
    pub(super) cardinal: fn(u128) -> Option<String>,
    pub(super) ordinal: fn(u128) -> Option<String>,
    pub(super) decimal: fn(Float) -> Option<String>,
    pub(super) money: fn(Money) -> MoneyWords,
}

/// Returns the words of a language, if it has a file here.
pub(super) fn of(language: &str) -> Option<&'static Words> {
    Some(match language {
        "en" => &en::WORDS,
        "de" => &de::WORDS,
        "fr" => &fr::WORDS,
        "es" => &es::WORDS,
        "it" => &it::WORDS,
        "pt" => &pt::WORDS,
        "ru" => &ru::WORDS,
        "nl" => &nl::WORDS,
        "tr" => &tr::WORDS,
        "pl" => &pl::WORDS,
        "cs" => &cs::WORDS,
        "hu" => &hu::WORDS,
        _ => return None,
    })
}

/// The bound, exclusive, of languages whose words were compared up to here.
const QUADRILLION: u128 = 1_000_000_000_000_000;

/// Splits `n` into groups of three digits, the highest first, each with its power
/// of a thousand; groups of zero are left out.
fn thousands(n: u128) -> Vec<(usize, usize)> {
    let mut groups = Vec::new();
    let (mut rest, mut power) = (n, 0);
    while rest > 0 {
        let group = usize::try_from(rest % 1000).unwrap_or(0);
        if group > 0 {
            groups.push((group, power));
        }
        rest /= 1000;
        power += 1;
    }
    groups.reverse();
    groups
}

/// Makes a table of words that stand one after another in a text, `_` for none. A
/// table of another length does not compile, because tables are constants.
const fn table<const N: usize>(words: &'static str) -> [&'static str; N] {
    let mut table = [""; N];
    let (mut rest, mut at) = (words.as_bytes(), 0);
    while at < N {
        let mut end = 0;
        while end < rest.len() && rest[end] != b' ' {
            end += 1;
        }
        assert!(end > 0, "too few words");
        let (word, after) = rest.split_at(end);
        table[at] = match (word, std::str::from_utf8(word)) {
            ([b'_'], _) | (_, Err(_)) => "",
            (_, Ok(word)) => word,
        };
        rest = match after {
            [_, rest @ ..] => rest,
            [] => after,
        };
        at += 1;
    }
    assert!(rest.is_empty(), "too many words");
    table
}

/// Joins the parts that are not empty.
fn join(parts: &[&str], link: &str) -> String {
    let parts: Vec<&str> = parts
        .iter()
        .copied()
        .filter(|part| !part.is_empty())
        .collect();
    parts.join(link)
}

/// Returns a number below a thousand as an index.
fn small(n: u128) -> usize {
    usize::try_from(n).unwrap_or(0)
}

/// Says "twelve point five": the whole, a word for the point, then digit by digit.
fn digit_by_digit(
    value: Float,
    point: &str,
    cardinal: fn(u128) -> Option<String>,
) -> Option<String> {
    let mut words = cardinal(value.whole()?)?;
    let digits = value.spoken_fraction()?;
    if !digits.is_empty() {
        words = format!("{words} {point}");
    }
    for digit in digits {
        words = format!("{words} {}", cardinal(u128::from(digit))?);
    }
    Some(words)
}

/// Returns which of (one, few, many) a Slavic noun takes after `n`, where 21 counts
/// as many (Polish, Czech).
fn few_or_many(n: u128) -> usize {
    match (n, n % 10, n % 100) {
        (1, ..) => 0,
        (_, 2..=4, hundredth) if !(12..=14).contains(&hundredth) => 1,
        _ => 2,
    }
}

/// Says the fraction as one number after its leading zeroes, as Polish and Czech
/// `num2words` do: 7.005 is "seven, zero zero five".
fn zeroes_then_number(
    value: Float,
    point: &str,
    cardinal: fn(u128) -> Option<String>,
) -> Option<String> {
    let fraction = value.written_fraction()?;
    let zeroes = fraction.len() - fraction.trim_start_matches('0').len();
    let mut words = format!("{} {point}", cardinal(value.whole()?)?);
    for _ in 0..zeroes {
        words = format!("{words} {}", cardinal(0)?);
    }
    Some(format!("{words} {}", cardinal(fraction.parse().ok()?)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What we say, in the notation of the table.
    fn say(language: &str, kind: &str, written: &str) -> Option<String> {
        let words = of(language)?;
        let number = || written.parse().ok();
        let currency = match kind {
            "cardinal" => return (words.cardinal)(number()?),
            "ordinal" => return (words.ordinal)(number()?),
            "decimal" => return (words.decimal)(Float::parse(written)?),
            "GBP" => Currency::Pound,
            "USD" => Currency::Dollar,
            _ => Currency::Euro,
        };
        let (whole, cents) = Float::parse(written)?.cents()?;
        match (words.money)(Money {
            currency,
            whole,
            cents,
        }) {
            MoneyWords::Words(words) => Some(words),
            MoneyWords::NotInReference => Some("not in reference".to_owned()),
            MoneyWords::Unsupported => None,
        }
    }

    /// `tests/data/number_words.tsv` is made by `make_number_words.py` with
    /// `num2words` 0.5.14. `NUMBER_WORDS_TABLE` names a larger one.
    #[test]
    fn words_are_those_of_num2words() {
        let committed = include_str!("../../../tests/data/number_words.tsv").to_owned();
        let table = match std::env::var("NUMBER_WORDS_TABLE") {
            Ok(path) => std::fs::read_to_string(path).unwrap(),
            Err(_) => committed,
        };
        let mut wrong = Vec::new();
        let mut rows = 0;
        for row in table.lines() {
            let [language, kind, written, expected] =
                row.split('\t').collect::<Vec<_>>().try_into().unwrap();
            rows += 1;
            let said = say(language, kind, written).unwrap_or_else(|| "nothing".to_owned());
            if said != expected {
                wrong.push(format!(
                    "{language} {kind} {written}\n  {said}\n  {expected}"
                ));
            }
        }
        assert!(rows > 2000, "{rows} rows");
        assert!(
            wrong.is_empty(),
            "{} of {rows}:\n{}",
            wrong.len(),
            wrong[..wrong.len().min(60)].join("\n")
        );
    }
}
