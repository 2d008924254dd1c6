//! Dutch.

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
    "nul één twee drie vier vijf zes zeven acht negen tien elf twaalf dertien veertien vijftien \
     zestien zeventien achttien negentien",
);
const TENS: [&str; 10] =
    table("_ _ twintig dertig veertig vijftig zestig zeventig tachtig negentig");
const POWERS: [&str; 5] = ["", "", "miljoen", "miljard", "biljoen"];

fn below_thousand(n: usize) -> String {
    let mut words = match n / 100 {
        0 => String::new(),
        1 => "honderd".to_owned(),
        hundred => format!("{}honderd", SMALL[hundred]),
    };
    match (n % 100 / 10, n % 10) {
        (0, 0) => {}
        (0 | 1, _) => words += SMALL[n % 100],
        (ten, 0) => words += TENS[ten],
        (ten, 1) => words += &format!("eenen{}", TENS[ten]),
        // A trema where two e's would meet.
        (ten, one @ (2 | 3)) => words += &format!("{}ën{}", SMALL[one], TENS[ten]),
        (ten, one) => words += &format!("{}en{}", SMALL[one], TENS[ten]),
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
            1 if group == 1 => words += "duizend",
            1 => words += &format!("{part}duizend"),
            _ if group == 1 => words += &format!("een {} ", POWERS[power]),
            _ => words += &format!("{part} {} ", POWERS[power]),
        }
    }
    Some(words.trim_end().to_owned())
}

fn ordinal(n: u128) -> Option<String> {
    if n >= 1_000_000 {
        return None;
    }
    let words = cardinal(n)?;
    let last = small(n % 100);
    let irregular = [("één", "eerste"), ("drie", "derde"), ("acht", "achtste")];
    if (1..10).contains(&last) {
        for (ending, ordinal) in irregular {
            if let Some(stem) = words.strip_suffix(ending) {
                return Some(format!("{stem}{ordinal}"));
            }
        }
    }
    let short = n == 0 || (1..20).contains(&last);
    Some(format!("{words}{}", if short { "de" } else { "ste" }))
}

fn decimal(value: Float) -> Option<String> {
    digit_by_digit(value, "komma", cardinal)
}

fn money(money: Money) -> MoneyWords {
    let (unit, cent) = match money.currency {
        Currency::Pound => ("pond", "penny"),
        Currency::Dollar => ("dollar", "cent"),
        Currency::Euro => ("euro", "cent"),
    };
    let words = || {
        let whole = cardinal(money.whole)?;
        let cents = cardinal(u128::from(money.cents))?;
        Some(format!("{whole} {unit}, {cents} {cent}"))
    };
    words().into()
}
