//! German. Nouns keep their capital (`Komma`, `Million`), as the reference
//! says them after the text was lower-cased.

use super::float::Float;
use super::{
    Currency, Money, MoneyWords, QUADRILLION, Words, digit_by_digit, small, table, thousands,
};

pub(super) const WORDS: Words = Words {
    cardinal,
    ordinal,
    decimal,
    money,
};

const SMALL: [&str; 20] = table(
    "null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn \
     fünfzehn sechzehn siebzehn achtzehn neunzehn",
);
const TENS: [&str; 10] =
    table("_ _ zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig");
const POWERS: [[&str; 2]; 5] = [
    ["", ""],
    ["", ""],
    ["Million", "Millionen"],
    ["Milliarde", "Milliarden"],
    ["Billion", "Billionen"],
];

fn one_as_prefix(n: usize) -> &'static str {
    if n == 1 { "ein" } else { SMALL[n] }
}

fn below_thousand(n: usize) -> String {
    let mut words = String::new();
    if n >= 100 {
        words = format!("{}hundert", one_as_prefix(n / 100));
    }
    match (n % 100 / 10, n % 10) {
        (0, 0) => {}
        (0 | 1, _) => words += SMALL[n % 100],
        (ten, 0) => words += TENS[ten],
        (ten, one) => words += &format!("{}und{}", one_as_prefix(one), TENS[ten]),
    }
    words
}

fn cardinal(n: u128) -> Option<String> {
    if n >= QUADRILLION {
        return None;
    }
    if n == 0 {
        return Some(SMALL[0].to_owned());
    }
    let mut words = String::new();
    for (group, power) in thousands(n) {
        let part = below_thousand(group);
        match power {
            0 => words += &part,
            1 if group == 1 => words += "eintausend",
            1 => words += &format!("{part}tausend"),
            _ if group == 1 => words += &format!("eine {} ", POWERS[power][0]),
            _ => words += &format!("{part} {} ", POWERS[power][1]),
        }
    }
    Some(words.trim_end().to_owned())
}

fn ordinal(n: u128) -> Option<String> {
    if n >= 1_000_000 {
        return None;
    }
    match n {
        100 => return Some("hundertste".to_owned()),
        1000 => return Some("tausendste".to_owned()),
        _ => {}
    }
    let words = cardinal(n)?;
    let last = small(n % 100);
    let irregular = [
        ("eins", "erste"),
        ("drei", "dritte"),
        ("sieben", "siebte"),
        ("acht", "achte"),
    ];
    if last < 20 {
        for (ending, ordinal) in irregular {
            if (1..=9).contains(&last)
                && let Some(stem) = words.strip_suffix(ending)
            {
                return Some(format!("{stem}{ordinal}"));
            }
        }
    }
    let short = n == 0 || (1..20).contains(&last);
    Some(format!("{words}{}", if short { "te" } else { "ste" }))
}

fn decimal(value: Float) -> Option<String> {
    digit_by_digit(value, "Komma", cardinal)
}

fn money(money: Money) -> MoneyWords {
    let (unit, cent) = match money.currency {
        Currency::Pound => ("Pfund", ["Penny", "Pence"]),
        Currency::Dollar => ("Dollar", ["Cent", "Cent"]),
        Currency::Euro => ("Euro", ["Cent", "Cent"]),
    };
    let counted = |n: u128| {
        // "ein" stands before any noun, the millions among them.
        let words = cardinal(n)? + " ";
        Some(words.replace("eins ", "ein ").trim_end().to_owned())
    };
    let words = || {
        let whole = counted(money.whole)?;
        let cents = counted(u128::from(money.cents))?;
        let cent = cent[usize::from(money.cents != 1)];
        Some(format!("{whole} {unit} und {cents} {cent}"))
    };
    words().into()
}
