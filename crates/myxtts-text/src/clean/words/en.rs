//! English.

use super::float::Float;
use super::{Currency, Money, MoneyWords, Words, digit_by_digit, table, thousands};

pub(super) const WORDS: Words = Words {
    cardinal,
    ordinal,
    decimal,
    money,
};

const SMALL: [&str; 20] = table(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen \
     fifteen sixteen seventeen eighteen nineteen",
);
const TENS: [&str; 10] = table("_ _ twenty thirty forty fifty sixty seventy eighty ninety");
const POWERS: [&str; 12] = table(
    "_ thousand million billion trillion quadrillion quintillion sextillion septillion \
     octillion nonillion decillion",
);

fn below_hundred(n: usize) -> String {
    match (n / 10, n % 10) {
        (0 | 1, _) => SMALL[n].to_owned(),
        (ten, 0) => TENS[ten].to_owned(),
        (ten, one) => format!("{}-{}", TENS[ten], SMALL[one]),
    }
}

fn below_thousand(n: usize) -> String {
    match (n / 100, n % 100) {
        (0, rest) => below_hundred(rest),
        (hundred, 0) => format!("{} hundred", SMALL[hundred]),
        (hundred, rest) => format!("{} hundred and {}", SMALL[hundred], below_hundred(rest)),
    }
}

/// Says a number with commas between groups and "and" before a last part below a hundred.
pub(in crate::clean) fn cardinal(n: u128) -> Option<String> {
    if n == 0 {
        return Some(SMALL[0].to_owned());
    }
    let mut words = String::new();
    for (group, power) in thousands(n) {
        if !words.is_empty() {
            words += if power == 0 && group < 100 {
                " and "
            } else {
                ", "
            };
        }
        words += &below_thousand(group);
        if power > 0 {
            words += " ";
            words += POWERS.get(power)?;
        }
    }
    Some(words)
}

fn ordinal(n: u128) -> Option<String> {
    let words = cardinal(n)?;
    let start = words.rfind([' ', '-']).map_or(0, |at| at + 1);
    let (before, last) = words.split_at(start);
    let last = match last {
        "one" => "first".to_owned(),
        "two" => "second".to_owned(),
        "three" => "third".to_owned(),
        "five" => "fifth".to_owned(),
        "eight" => "eighth".to_owned(),
        "nine" => "ninth".to_owned(),
        "twelve" => "twelfth".to_owned(),
        word => match word.strip_suffix('y') {
            Some(stem) => format!("{stem}ieth"),
            None => format!("{word}th"),
        },
    };
    Some(format!("{before}{last}"))
}

fn decimal(value: Float) -> Option<String> {
    digit_by_digit(value, "point", cardinal)
}

fn money(money: Money) -> MoneyWords {
    money_in(money, cardinal)
}

/// Says money with English names of the currencies, counted by another language:
/// Hungarian has none of its own in `num2words`.
pub(super) fn money_in(money: Money, cardinal: fn(u128) -> Option<String>) -> MoneyWords {
    let (unit, cent) = match money.currency {
        Currency::Pound => (["pound sterling", "pounds sterling"], ["penny", "pence"]),
        Currency::Dollar => (["dollar", "dollars"], ["cent", "cents"]),
        Currency::Euro => (["euro", "euro"], ["cent", "cents"]),
    };
    let words = || {
        let whole = cardinal(money.whole)?;
        let cents = cardinal(u128::from(money.cents))?;
        let unit = unit[usize::from(money.whole != 1)];
        let cent = cent[usize::from(money.cents != 1)];
        Some(format!("{whole} {unit}, {cents} {cent}"))
    };
    words().into()
}
