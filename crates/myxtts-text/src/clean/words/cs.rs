//! Czech. `num2words` has no Czech ordinals: the reference stops with an
//! exception on "1. test", and we report it.

use super::float::Float;
use super::pl::join;
use super::{
    Currency, Money, MoneyWords, QUADRILLION, Words, few_or_many, thousands, zeroes_then_number,
};

pub(super) const WORDS: Words = Words {
    cardinal,
    ordinal: |_| None,
    decimal,
    money,
};

const SMALL: [&str; 20] = [
    "nula",
    "jedna",
    "dva",
    "tři",
    "čtyři",
    "pět",
    "šest",
    "sedm",
    "osm",
    "devět",
    "deset",
    "jedenáct",
    "dvanáct",
    "třináct",
    "čtrnáct",
    "patnáct",
    "šestnáct",
    "sedmnáct",
    "osmnáct",
    "devatenáct",
];
const TENS: [&str; 10] = [
    "",
    "",
    "dvacet",
    "třicet",
    "čtyřicet",
    "padesát",
    "šedesát",
    "sedmdesát",
    "osmdesát",
    "devadesát",
];
const HUNDREDS: [&str; 10] = [
    "",
    "sto",
    "dvěstě",
    "třista",
    "čtyřista",
    "pětset",
    "šestset",
    "sedmset",
    "osmset",
    "devětset",
];
const POWERS: [[&str; 3]; 5] = [
    ["", "", ""],
    ["tisíc", "tisíce", "tisíc"],
    ["milion", "miliony", "milionů"],
    ["miliarda", "miliardy", "miliard"],
    ["bilion", "biliony", "bilionů"],
];

fn below_thousand(n: usize) -> String {
    let tens = n % 100;
    let (ten, one) = if tens < 20 {
        (0, tens)
    } else {
        (tens / 10, tens % 10)
    };
    join(&[
        HUNDREDS[n / 100],
        TENS[ten],
        if one == 0 { "" } else { SMALL[one] },
    ])
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

fn decimal(value: Float) -> Option<String> {
    zeroes_then_number(value, "celá", cardinal)
}

fn money(money: Money) -> MoneyWords {
    if money.currency != Currency::Euro {
        return MoneyWords::NotInReference;
    }
    let cents = u128::from(money.cents);
    let words = || {
        Some(format!(
            "{} euro, {} {}",
            cardinal(money.whole)?,
            cardinal(cents)?,
            ["cent", "centy", "centů"][few_or_many(cents)],
        ))
    };
    words().into()
}
