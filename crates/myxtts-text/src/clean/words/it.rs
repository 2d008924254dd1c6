//! Italian.
//!
//! `num2words` puts the accent of "ventitré" on, and the next larger part of the
//! number takes it off again ("centoventitre"), in turn. [`accent`] does the same,
//! at the same places.

use super::float::Float;
use super::{Currency, Money, MoneyWords, QUADRILLION, Words, small, table};

pub(super) const WORDS: Words = Words {
    cardinal,
    ordinal,
    decimal,
    money,
};

const SMALL: [&str; 20] = table(
    "zero uno due tre quattro cinque sei sette otto nove dieci undici dodici tredici \
     quattordici quindici sedici diciassette diciotto diciannove",
);
const TENS: [&str; 10] =
    table("_ _ venti trenta quaranta cinquanta sessanta settanta ottanta novanta");
const ORDINALS: [&str; 11] =
    table("zero primo secondo terzo quarto quinto sesto settimo ottavo nono decimo");
const POWERS: [(u128, [&str; 2]); 3] = [
    (1_000_000_000_000, ["bilione", "bilioni"]),
    (1_000_000_000, ["miliardo", "miliardi"]),
    (1_000_000, ["milione", "milioni"]),
];

/// Swaps `tre` and `tré` at the end of every word but "tre" itself.
fn accent(words: &str) -> String {
    let swapped: Vec<String> = words
        .split(' ')
        .map(
            |word| match (word.strip_suffix("tre"), word.strip_suffix("tré")) {
                (Some(stem), _) if !stem.is_empty() => format!("{stem}tré"),
                (_, Some(stem)) => format!("{stem}tre"),
                _ => word.to_owned(),
            },
        )
        .collect();
    swapped.join(" ")
}

fn below_thousand(n: usize) -> String {
    match n {
        0..20 => SMALL[n].to_owned(),
        20..100 => {
            let (ten, one) = (TENS[n / 10], n % 10);
            match one {
                0 => ten.to_owned(),
                1 | 8 => format!("{}{}", &ten[..ten.len() - 1], SMALL[one]),
                _ => accent(&format!("{ten}{}", SMALL[one])),
            }
        }
        _ => {
            let hundred = if n / 100 == 1 { "" } else { SMALL[n / 100] };
            let rest = match n % 100 {
                0 => String::new(),
                // The rule for "centotto" also eats this i, in `num2words`.
                18 => "dicotto".to_owned(),
                rest => below_thousand(rest),
            };
            // "cento" gives up its o before another one: centotto, centottanta.
            let link = if rest.starts_with('o') {
                "cent"
            } else {
                "cento"
            };
            accent(&format!("{hundred}{link}{rest}"))
        }
    }
}

fn below_million(n: u128) -> String {
    let (thousand, rest) = (small(n / 1000), small(n % 1000));
    let after = if rest == 0 {
        String::new()
    } else {
        below_thousand(rest)
    };
    match thousand {
        0 => after,
        1 => accent(&format!("mille{after}")),
        _ => {
            let count = below_thousand(thousand).replace("tré", "tre");
            accent(&format!("{count}mila{after}"))
        }
    }
}

fn cardinal(n: u128) -> Option<String> {
    if n >= QUADRILLION {
        return None;
    }
    if n == 0 {
        return Some(SMALL[0].to_owned());
    }
    Some(long(n))
}

fn long(n: u128) -> String {
    for (power, [one, many]) in POWERS {
        if n < power {
            continue;
        }
        let count = match n / power {
            1 => format!("un {one}"),
            count => format!("{} {many}", below_thousand(small(count))),
        };
        let rest = n % power;
        // A last part is joined by "e", one that has parts of its own by a comma.
        return accent(&match rest {
            0 => count,
            rest => {
                let words = long(rest);
                let link = if words.contains(" e ") { ", " } else { " e " };
                format!("{count}{link}{words}")
            }
        });
    }
    below_million(n)
}

fn ordinal(n: u128) -> Option<String> {
    if n >= 1_000_000 {
        return None;
    }
    if n <= 10 {
        return Some(ORDINALS[small(n)].to_owned());
    }
    let words = cardinal(n)?;
    if n.is_multiple_of(1000) {
        let stem = words
            .strip_suffix("mila")
            .or_else(|| words.strip_suffix("mille"))?;
        return Some(format!("{stem}millesimo"));
    }
    Some(match (n % 10, n % 100) {
        (3, tens) if tens != 13 => {
            format!(
                "{}treesimo",
                words.trim_end_matches(['é', 'e']).strip_suffix("tr")?
            )
        }
        (6, tens) if tens != 16 => format!("{words}esimo"),
        _ => {
            let last = words.chars().next_back()?;
            format!("{}esimo", words.strip_suffix(last)?)
        }
    })
}

/// Says the digits that Python writes, one by one; a whole float keeps its ".0".
fn decimal(value: Float) -> Option<String> {
    let mut words = format!("{} virgola", cardinal(value.whole()?)?);
    for digit in value.written_fraction()?.bytes() {
        words = format!("{words} {}", SMALL[usize::from(digit - b'0')]);
    }
    Some(accent(&words))
}

fn money(money: Money) -> MoneyWords {
    let (unit, cent) = match money.currency {
        Currency::Pound => (["sterlina", "sterline"], ["penny", "penny"]),
        Currency::Dollar => (["dollaro", "dollari"], ["centesimo", "centesimi"]),
        Currency::Euro => (["euro", "euro"], ["centesimo", "centesimi"]),
    };
    let counted = |n: u128| {
        let words = cardinal(n)?;
        Some(words.replace("uno", "un"))
    };
    let words = || {
        let whole = match (money.currency, money.whole) {
            (Currency::Pound, 1) => "una".to_owned(),
            (_, whole) => counted(whole)?,
        };
        let cents = counted(u128::from(money.cents))?;
        let unit = unit[usize::from(money.whole != 1)];
        let cent = cent[usize::from(money.cents != 1)];
        Some(format!("{whole} {unit} e {cents} {cent}"))
    };
    words().into()
}
