//! Russian.

use super::float::Float;
use super::{Currency, Money, MoneyWords, QUADRILLION, Words, join, small, table, thousands};

pub(super) const WORDS: Words = Words {
    cardinal,
    ordinal,
    decimal,
    money,
};

const SMALL: [&str; 20] = table(
    "ноль один два три четыре пять шесть семь восемь девять десять одиннадцать двенадцать \
     тринадцать четырнадцать пятнадцать шестнадцать семнадцать восемнадцать девятнадцать",
);
const TENS: [&str; 10] =
    table("_ _ двадцать тридцать сорок пятьдесят шестьдесят семьдесят восемьдесят девяносто");
const HUNDREDS: [&str; 10] =
    table("_ сто двести триста четыреста пятьсот шестьсот семьсот восемьсот девятьсот");
const POWERS: [[&str; 3]; 5] = [
    ["", "", ""],
    ["тысяча", "тысячи", "тысяч"],
    ["миллион", "миллиона", "миллионов"],
    ["миллиард", "миллиарда", "миллиардов"],
    ["триллион", "триллиона", "триллионов"],
];
const SMALL_ORDINALS: [&str; 20] = table(
    "нулевой первый второй третий четвёртый пятый шестой седьмой восьмой девятый десятый \
     одиннадцатый двенадцатый тринадцатый четырнадцатый пятнадцатый шестнадцатый семнадцатый \
     восемнадцатый девятнадцатый",
);
const TEN_ORDINALS: [&str; 10] = table(
    "_ _ двадцатый тридцатый сороковой пятидесятый шестидесятый семидесятый восьмидесятый \
     девяностый",
);
const HUNDRED_ORDINALS: [&str; 10] = table(
    "_ сотый двухсотый трёхсотый четырёхсотый пятисотый шестисотый семисотый восьмисотый \
     девятисотый",
);
/// Singular and plural names of tenths, hundredths...
const PARTS: [[&str; 2]; 6] = [
    ["десятая", "десятых"],
    ["сотая", "сотых"],
    ["тысячная", "тысячных"],
    ["десятитысячная", "десятитысячных"],
    ["стотысячная", "стотысячных"],
    ["миллионная", "миллионных"],
];

/// Returns which of (one, few, many) follows `n`; 21 counts as one.
fn form(n: u128) -> usize {
    match (n % 10, n % 100) {
        (_, 11..=14) => 2,
        (1, _) => 0,
        (2..=4, _) => 1,
        _ => 2,
    }
}

fn below_thousand(n: usize, feminine: bool) -> String {
    let tens = n % 100;
    let (ten, one) = if tens < 20 {
        (0, tens)
    } else {
        (tens / 10, tens % 10)
    };
    let one = match (one, feminine) {
        (0, _) => "",
        (1, true) => "одна",
        (2, true) => "две",
        _ => SMALL[one],
    };
    join(&[HUNDREDS[n / 100], TENS[ten], one], " ")
}

fn count(n: u128, feminine: bool) -> Option<String> {
    if n >= QUADRILLION {
        return None;
    }
    if n == 0 {
        return Some(SMALL[0].to_owned());
    }
    let parts: Vec<String> = thousands(n)
        .into_iter()
        .map(|(group, power)| match power {
            0 => below_thousand(group, feminine),
            _ => {
                let words = below_thousand(group, power == 1);
                format!("{words} {}", POWERS[power][form(group as u128)])
            }
        })
        .collect();
    Some(parts.join(" "))
}

fn cardinal(n: u128) -> Option<String> {
    count(n, false)
}

/// Says an ordinal below five thousand: beyond, `num2words` says "тридцатый тысяч первый".
fn ordinal(n: u128) -> Option<String> {
    if n >= 5000 {
        return None;
    }
    if n == 0 {
        return Some(SMALL_ORDINALS[0].to_owned());
    }
    let (thousand, rest) = (small(n / 1000), small(n % 1000));
    if rest == 0 {
        let prefix = ["", "", "двух", "трёх", "четырёх"][thousand];
        return Some(format!("{prefix}тысячный"));
    }
    let thousand = match thousand {
        0 => String::new(),
        1 => "тысяча".to_owned(),
        _ => count(thousand as u128 * 1000, false)?,
    };
    let (hundred, tens) = (rest / 100, rest % 100);
    let last = match tens {
        0 => HUNDRED_ORDINALS[hundred].to_owned(),
        1..20 => join(&[HUNDREDS[hundred], SMALL_ORDINALS[tens]], " "),
        _ if tens % 10 == 0 => join(&[HUNDREDS[hundred], TEN_ORDINALS[tens / 10]], " "),
        _ => join(
            &[
                HUNDREDS[hundred],
                TENS[tens / 10],
                SMALL_ORDINALS[tens % 10],
            ],
            " ",
        ),
    };
    Some(join(&[&thousand, &last], " "))
}

/// Says a decimal: "двенадцать целых пять десятых". From a million on `num2words`
/// makes the million feminine; such decimals are left alone.
fn decimal(value: Float) -> Option<String> {
    let whole = value.whole()?;
    let fraction = value.written_fraction()?;
    let parts = PARTS.get(fraction.len() - 1)?;
    let numerator: u128 = fraction.parse().ok()?;
    if whole >= 1_000_000 {
        return None;
    }
    Some(format!(
        "{} {} {} {}",
        count(whole, true)?,
        ["целая", "целых"][usize::from(form(whole) != 0)],
        count(numerator, true)?,
        parts[usize::from(form(numerator) != 0)],
    ))
}

fn money(money: Money) -> MoneyWords {
    let unit = match money.currency {
        Currency::Pound => return MoneyWords::NotInReference,
        Currency::Dollar => ["доллар", "доллара", "долларов"],
        Currency::Euro => ["евро", "евро", "евро"],
    };
    let cents = u128::from(money.cents);
    let words = || {
        Some(format!(
            "{} {}, {} {}",
            cardinal(money.whole)?,
            unit[form(money.whole)],
            cardinal(cents)?,
            ["цент", "цента", "центов"][form(cents)],
        ))
    };
    words().into()
}
