//! French.

use super::float::Float;
use super::{Currency, Money, MoneyWords, QUADRILLION, Words, digit_by_digit, table, thousands};

pub(super) const WORDS: Words = Words {
    cardinal,
    ordinal,
    decimal,
    money,
};

const SMALL: [&str; 17] = table(
    "zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze \
     seize",
);
const TENS: [&str; 7] = table("_ dix vingt trente quarante cinquante soixante");
const POWERS: [&str; 5] = ["", "mille", "million", "milliard", "billion"];

fn below_hundred(n: usize) -> String {
    match n {
        0..=16 => SMALL[n].to_owned(),
        17..=19 => format!("dix-{}", SMALL[n - 10]),
        71 => "soixante et onze".to_owned(),
        70..=79 => format!("soixante-{}", below_hundred(n - 60)),
        80 => "quatre-vingts".to_owned(),
        81..=99 => format!("quatre-vingt-{}", below_hundred(n - 80)),
        _ => match (TENS[n / 10], n % 10) {
            (ten, 0) => ten.to_owned(),
            (ten, 1) => format!("{ten} et un"),
            (ten, one) => format!("{ten}-{}", SMALL[one]),
        },
    }
}

fn below_thousand(n: usize) -> String {
    match (n / 100, n % 100) {
        (0, rest) => below_hundred(rest),
        (1, 0) => "cent".to_owned(),
        (1, rest) => format!("cent {}", below_hundred(rest)),
        (hundred, 0) => format!("{} cents", SMALL[hundred]),
        (hundred, rest) => format!("{} cent {}", SMALL[hundred], below_hundred(rest)),
    }
}

fn cardinal(n: u128) -> Option<String> {
    if n >= QUADRILLION {
        return None;
    }
    if n == 0 {
        return Some(SMALL[0].to_owned());
    }
    let parts: Vec<String> = thousands(n)
        .into_iter()
        .map(|(group, power)| {
            let words = below_thousand(group);
            match power {
                0 => words,
                1 if group == 1 => "mille".to_owned(),
                // `vingts` and `cents` lose their s before another numeral.
                1 => {
                    let plural = words.ends_with("vingts") || words.ends_with("cents");
                    let stem = if plural {
                        &words[..words.len() - 1]
                    } else {
                        &words
                    };
                    format!("{stem} mille")
                }
                _ if group == 1 => format!("un {}", POWERS[power]),
                _ => format!("{words} {}s", POWERS[power]),
            }
        })
        .collect();
    Some(parts.join(" "))
}

fn ordinal(n: u128) -> Option<String> {
    if n >= 1_000_000 {
        return None;
    }
    if n == 1 {
        return Some("premier".to_owned());
    }
    let words = cardinal(n)?;
    Some(if let Some(stem) = words.strip_suffix("neuf") {
        format!("{stem}neuvième")
    } else if words.ends_with("cinq") {
        format!("{words}uième")
    } else if let Some(stem) = words.strip_suffix('e') {
        format!("{stem}ième")
    } else {
        format!("{words}ième")
    })
}

fn decimal(value: Float) -> Option<String> {
    digit_by_digit(value, "virgule", cardinal)
}

fn money(money: Money) -> MoneyWords {
    let (unit, cent) = match money.currency {
        Currency::Pound => (["livre", "livres"], ["penny", "pence"]),
        Currency::Dollar => (["dollar", "dollars"], ["cent", "cents"]),
        Currency::Euro => (["euro", "euros"], ["centime", "centimes"]),
    };
    let words = || {
        let whole = cardinal(money.whole)?;
        let cents = cardinal(u128::from(money.cents))?;
        let unit = unit[usize::from(money.whole != 1)];
        let cent = cent[usize::from(money.cents != 1)];
        Some(format!("{whole} {unit} et {cents} {cent}"))
    };
    words().into()
}
