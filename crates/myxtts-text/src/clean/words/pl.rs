//! Polish.

use super::float::Float;
use super::{
    Currency, Money, MoneyWords, QUADRILLION, Words, few_or_many, small, thousands,
    zeroes_then_number,
};

pub(super) const WORDS: Words = Words {
    cardinal,
    ordinal,
    decimal,
    money,
};

const SMALL: [&str; 20] = [
    "zero",
    "jeden",
    "dwa",
    "trzy",
    "cztery",
    "pięć",
    "sześć",
    "siedem",
    "osiem",
    "dziewięć",
    "dziesięć",
    "jedenaście",
    "dwanaście",
    "trzynaście",
    "czternaście",
    "piętnaście",
    "szesnaście",
    "siedemnaście",
    "osiemnaście",
    "dziewiętnaście",
];
const TENS: [&str; 10] = [
    "",
    "",
    "dwadzieścia",
    "trzydzieści",
    "czterdzieści",
    "pięćdziesiąt",
    "sześćdziesiąt",
    "siedemdziesiąt",
    "osiemdziesiąt",
    "dziewięćdziesiąt",
];
const HUNDREDS: [&str; 10] = [
    "",
    "sto",
    "dwieście",
    "trzysta",
    "czterysta",
    "pięćset",
    "sześćset",
    "siedemset",
    "osiemset",
    "dziewięćset",
];
const POWERS: [[&str; 3]; 5] = [
    ["", "", ""],
    ["tysiąc", "tysiące", "tysięcy"],
    ["milion", "miliony", "milionów"],
    ["miliard", "miliardy", "miliardów"],
    ["bilion", "biliony", "bilionów"],
];
const SMALL_ORDINALS: [&str; 20] = [
    "",
    "pierwszy",
    "drugi",
    "trzeci",
    "czwarty",
    "piąty",
    "szósty",
    "siódmy",
    "ósmy",
    "dziewiąty",
    "dziesiąty",
    "jedenasty",
    "dwunasty",
    "trzynasty",
    "czternasty",
    "piętnasty",
    "szesnasty",
    "siedemnasty",
    "osiemnasty",
    "dziewiętnasty",
];
const TEN_ORDINALS: [&str; 10] = [
    "",
    "",
    "dwudziesty",
    "trzydziesty",
    "czterdziesty",
    "pięćdziesiąty",
    "sześćdziesiąty",
    "siedemdziesiąty",
    "osiemdziesiąty",
    "dziewięćdziesiąty",
];

fn below_thousand(n: usize) -> String {
    let tens = n % 100;
    let parts = if tens < 20 {
        [
            HUNDREDS[n / 100],
            "",
            if tens == 0 { "" } else { SMALL[tens] },
        ]
    } else {
        [
            HUNDREDS[n / 100],
            TENS[tens / 10],
            if tens.is_multiple_of(10) {
                ""
            } else {
                SMALL[tens % 10]
            },
        ]
    };
    join(&parts)
}

pub(super) fn join(parts: &[&str]) -> String {
    let parts: Vec<&str> = parts
        .iter()
        .copied()
        .filter(|part| !part.is_empty())
        .collect();
    parts.join(" ")
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
        .map(|(group, power)| match (group, power) {
            (_, 0) => below_thousand(group),
            (1, _) => POWERS[power][0].to_owned(),
            _ => {
                let form = few_or_many(group as u128);
                format!("{} {}", below_thousand(group), POWERS[power][form])
            }
        })
        .collect();
    Some(parts.join(" "))
}

fn ordinal(n: u128) -> Option<String> {
    if n == 0 || n >= 1000 || n.is_multiple_of(100) {
        return None;
    }
    let n = small(n);
    let tens = n % 100;
    Some(if tens < 20 {
        join(&[HUNDREDS[n / 100], SMALL_ORDINALS[tens]])
    } else {
        join(&[
            HUNDREDS[n / 100],
            TEN_ORDINALS[tens / 10],
            SMALL_ORDINALS[tens % 10],
        ])
    })
}

fn decimal(value: Float) -> Option<String> {
    zeroes_then_number(value, "przecinek", cardinal)
}

fn money(money: Money) -> MoneyWords {
    let unit = match money.currency {
        Currency::Pound => return MoneyWords::NotInReference,
        Currency::Dollar => [
            "dolar amerykański",
            "dolary amerykańskie",
            "dolarów amerykańskich",
        ],
        Currency::Euro => ["euro", "euro", "euro"],
    };
    let cents = u128::from(money.cents);
    let words = || {
        Some(format!(
            "{} {}, {} {}",
            cardinal(money.whole)?,
            unit[few_or_many(money.whole)],
            cardinal(cents)?,
            ["cent", "centy", "centów"][few_or_many(cents)],
        ))
    };
    words().into()
}
