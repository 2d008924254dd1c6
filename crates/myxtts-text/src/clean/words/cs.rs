//! Czech. `num2words` has no Czech ordinals: the reference stops with an
//! exception on "1. test", and we report it.

use super::float::Float;
use super::slavic::Cardinals;
use super::{Currency, Money, MoneyWords, Words, few_or_many, table, zeroes_then_number};

pub(super) const WORDS: Words = Words {
    cardinal,
    ordinal: |_| None,
    decimal,
    money,
};

const CARDINALS: Cardinals = Cardinals {
    small: table(
        "nula jedna dva tři čtyři pět šest sedm osm devět deset jedenáct dvanáct třináct \
         čtrnáct patnáct šestnáct sedmnáct osmnáct devatenáct",
    ),
    tens: table("_ _ dvacet třicet čtyřicet padesát šedesát sedmdesát osmdesát devadesát"),
    hundreds: table("_ sto dvěstě třista čtyřista pětset šestset sedmset osmset devětset"),
    powers: [
        ["", "", ""],
        ["tisíc", "tisíce", "tisíc"],
        ["milion", "miliony", "milionů"],
        ["miliarda", "miliardy", "miliard"],
        ["bilion", "biliony", "bilionů"],
    ],
};

fn cardinal(n: u128) -> Option<String> {
    CARDINALS.cardinal(n)
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
