//! Hungarian: one word up to two thousand, hyphens between the parts beyond.
//! `num2words` says the currencies in English.

use super::float::Float;
use super::{Money, MoneyWords, Words, en, small, table};

pub(super) const WORDS: Words = Words {
    cardinal,
    ordinal,
    decimal,
    money,
};

const ONES: [&str; 10] = table("_ egy kettő három négy öt hat hét nyolc kilenc");
const TENS: [&str; 10] = table("_ tíz húsz harminc negyven ötven hatvan hetven nyolcvan kilencven");

/// The endings of cardinals, each with that of its ordinal.
const ORDINALS: [(&str, &str); 22] = [
    ("egy", "egyedik"),
    ("kettő", "kettedik"),
    ("három", "harmadik"),
    ("négy", "negyedik"),
    ("öt", "ötödik"),
    ("hat", "hatodik"),
    ("hét", "hetedik"),
    ("nyolc", "nyolcadik"),
    ("kilenc", "kilencedik"),
    ("tíz", "tizedik"),
    ("húsz", "huszadik"),
    ("harminc", "harmincadik"),
    ("negyven", "negyvenedik"),
    ("ötven", "ötvenedik"),
    ("hatvan", "hatvanadik"),
    ("hetven", "hetvenedik"),
    ("nyolcvan", "nyolcvanadik"),
    ("kilencven", "kilencvenedik"),
    ("száz", "századik"),
    ("ezer", "ezredik"),
    ("nulla", "nulladik"),
    ("két", "kétik"),
];

/// Says a number below a thousand. The `part` of a larger number has "két" for its
/// last "kettő", also at the very end, which is a fault of `num2words`, kept.
fn below_thousand(n: usize, part: bool) -> String {
    let hundred = match n / 100 {
        0 => String::new(),
        1 => "száz".to_owned(),
        2 => "kétszáz".to_owned(),
        hundred => format!("{}száz", ONES[hundred]),
    };
    let rest = match (n % 100 / 10, n % 10) {
        (0, 2) if part || n > 2 => "két".to_owned(),
        (0, one) => ONES[one].to_owned(),
        (1, one @ 1..) => format!("tizen{}", ONES[one]),
        (2, one @ 1..) => format!("huszon{}", ONES[one]),
        (ten, one) => format!("{}{}", TENS[ten], ONES[one]),
    };
    hundred + &rest
}

fn cardinal(n: u128) -> Option<String> {
    if n >= 1_000_000_000 {
        return None;
    }
    if n == 0 {
        return Some("nulla".to_owned());
    }
    Some(long(n, false))
}

fn long(n: u128, part: bool) -> String {
    let (power, name) = match n {
        0..1000 => return below_thousand(small(n), part),
        1000..2000 => return format!("ezer{}", below_thousand(small(n - 1000), true)),
        2000..1_000_000 => (1000, "ezer"),
        _ => (1_000_000, "millió"),
    };
    let count = below_thousand(small(n / power), true);
    match n % power {
        0 => format!("{count}{name}"),
        rest => format!("{count}{name}-{}", long(rest, true)),
    }
}

fn ordinal(n: u128) -> Option<String> {
    match n {
        1 => return Some("első".to_owned()),
        2 => return Some("második".to_owned()),
        1_000_000.. => return None,
        _ => {}
    }
    let words = cardinal(n)?;
    let (stem, ending) = ORDINALS
        .iter()
        .find_map(|(cardinal, ordinal)| Some((words.strip_suffix(cardinal)?, ordinal)))?;
    Some(format!("{stem}{ending}"))
}

fn decimal(value: Float) -> Option<String> {
    let whole = cardinal(value.whole()?)?;
    let digits = value.spoken_fraction()?;
    if digits.is_empty() {
        return Some(whole);
    }
    let part = ["tized", "század", "ezred"].get(digits.len() - 1)?;
    let numerator = digits
        .iter()
        .fold(0, |n, &digit| n * 10 + u128::from(digit));
    Some(format!(
        "{whole} egész {} {part}",
        below_thousand(small(numerator), false)
    ))
}

fn money(money: Money) -> MoneyWords {
    en::money_in(money, cardinal)
}
