//! Spanish: long scale, so 10⁹ is "mil millones".

use super::float::Float;
use super::{Currency, Money, MoneyWords, QUADRILLION, Words, digit_by_digit, join, small, table};

pub(super) const WORDS: Words = Words {
    cardinal,
    ordinal,
    decimal,
    money,
};

const SMALL: [&str; 30] = table(
    "cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince \
     dieciséis diecisiete dieciocho diecinueve veinte veintiuno veintidós veintitrés \
     veinticuatro veinticinco veintiséis veintisiete veintiocho veintinueve",
);
const TENS: [&str; 10] = table("_ _ _ treinta cuarenta cincuenta sesenta setenta ochenta noventa");
const HUNDREDS: [&str; 10] = table(
    "_ ciento doscientos trescientos cuatrocientos quinientos seiscientos setecientos \
     ochocientos novecientos",
);
const ORDINAL_ONES: [&str; 10] =
    table("_ primero segundo tercero cuarto quinto sexto séptimo octavo noveno");
const ORDINAL_TENS: [&str; 10] = table(
    "_ décimo vigésimo trigésimo quadragésimo quincuagésimo sexagésimo septuagésimo octogésimo \
     nonagésimo",
);
const ORDINAL_HUNDREDS: [&str; 10] = table(
    "_ centésimo ducentésimo tricentésimo cuadrigentésimo quingentésimo sexcentésimo \
     septigentésimo octigentésimo noningentésimo",
);

fn below_thousand(n: usize) -> String {
    let rest = match n % 100 {
        0 => String::new(),
        rest @ 1..30 => SMALL[rest].to_owned(),
        rest if rest % 10 == 0 => TENS[rest / 10].to_owned(),
        rest => format!("{} y {}", TENS[rest / 10], SMALL[rest % 10]),
    };
    match (n / 100, rest.is_empty()) {
        (0, _) => rest,
        (1, true) => "cien".to_owned(),
        (hundred, true) => HUNDREDS[hundred].to_owned(),
        (hundred, false) => format!("{} {rest}", HUNDREDS[hundred]),
    }
}

/// Says 1 to 999,999; the long scale counts the larger powers with these.
fn below_million(n: u128) -> String {
    let (thousand, rest) = (small(n / 1000), small(n % 1000));
    let thousand = match thousand {
        0 => String::new(),
        1 => "mil".to_owned(),
        _ => format!("{} mil", below_thousand(thousand)),
    };
    join(&[&thousand, &below_thousand(rest)], " ")
}

fn cardinal(n: u128) -> Option<String> {
    if n >= QUADRILLION {
        return None;
    }
    if n == 0 {
        return Some(SMALL[0].to_owned());
    }
    let power = |count: u128, one: &str, many: &str| match count {
        0 => String::new(),
        1 => format!("un {one}"),
        _ => format!("{} {many}", below_million(count)),
    };
    let billion = power(n / 1_000_000_000_000, "billón", "billones");
    let million = power(n / 1_000_000 % 1_000_000, "millón", "millones");
    let rest = below_million(n % 1_000_000);
    Some(join(&[&billion, &million, &rest], " "))
}

fn ordinal(n: u128) -> Option<String> {
    if n == 0 || n >= 1_000_000 {
        return None;
    }
    let (thousand, rest) = (small(n / 1000), small(n % 1000));
    let thousand = match thousand {
        0 => String::new(),
        1 => "milésimo".to_owned(),
        _ => format!("{}milésimo", below_thousand(thousand)),
    };
    let tens = match rest % 100 {
        11 => "décimoprimero".to_owned(),
        12 => "décimosegundo".to_owned(),
        tens => join(&[ORDINAL_TENS[tens / 10], ORDINAL_ONES[tens % 10]], " "),
    };
    let hundred = ORDINAL_HUNDREDS[rest / 100];
    Some(join(&[&thousand, hundred, &tens], " "))
}

fn decimal(value: Float) -> Option<String> {
    digit_by_digit(value, "punto", cardinal)
}

fn masculine(words: &str) -> String {
    words.replace("veintiuno", "veintiún").replace("uno", "un")
}

fn money(money: Money) -> MoneyWords {
    let (unit, cent) = match money.currency {
        Currency::Pound => (["libra", "libras"], ["penique", "peniques"]),
        Currency::Dollar => (["dólar", "dólares"], ["centavo", "centavos"]),
        Currency::Euro => (["euro", "euros"], ["céntimo", "céntimos"]),
    };
    let words = || {
        let whole = cardinal(money.whole)?;
        let whole = match money.currency {
            Currency::Pound => whole.replace("uno", "una").replace("cientos", "cientas"),
            Currency::Dollar | Currency::Euro => masculine(&whole),
        };
        let cents = masculine(&cardinal(u128::from(money.cents))?);
        let unit = unit[usize::from(money.whole != 1)];
        let cent = cent[usize::from(money.cents != 1)];
        Some(format!("{whole} {unit} con {cents} {cent}"))
    };
    words().into()
}
