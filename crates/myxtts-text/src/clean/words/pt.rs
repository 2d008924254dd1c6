//! Portuguese of Portugal, which is what the reference speaks for every `pt`:
//! long scale, "dezasseis".

use super::float::Float;
use super::{Currency, Money, MoneyWords, QUADRILLION, Words, digit_by_digit, join, small, table};

pub(super) const WORDS: Words = Words {
    cardinal,
    ordinal,
    decimal,
    money,
};

const SMALL: [&str; 20] = table(
    "zero um dois três quatro cinco seis sete oito nove dez onze doze treze catorze quinze \
     dezasseis dezassete dezoito dezanove",
);
const TENS: [&str; 10] =
    table("_ _ vinte trinta quarenta cinquenta sessenta setenta oitenta noventa");
const HUNDREDS: [&str; 10] = table(
    "_ cento duzentos trezentos quatrocentos quinhentos seiscentos setecentos oitocentos \
     novecentos",
);
const ORDINAL_ONES: [&str; 10] =
    table("_ primeiro segundo terceiro quarto quinto sexto sétimo oitavo nono");
const ORDINAL_TENS: [&str; 10] = table(
    "_ décimo vigésimo trigésimo quadragésimo quinquagésimo sexagésimo septuagésimo octogésimo \
     nonagésimo",
);
const ORDINAL_HUNDREDS: [&str; 10] = table(
    "_ centésimo ducentésimo tricentésimo quadrigentésimo quingentésimo seiscentésimo \
     septigentésimo octigentésimo nongentésimo",
);
/// Powers after which "e" may fall away.
const POWERS: [&str; 5] = ["mil", "milhão", "milhões", "bilião", "biliões"];

fn below_thousand(n: usize) -> String {
    if n == 100 {
        return "cem".to_owned();
    }
    let tens = match n % 100 {
        0 => String::new(),
        tens @ 1..20 => SMALL[tens].to_owned(),
        tens => {
            let one = if tens % 10 == 0 { "" } else { SMALL[tens % 10] };
            join(&[TENS[tens / 10], one], " e ")
        }
    };
    join(&[HUNDREDS[n / 100], &tens], " e ")
}

fn below_million(n: u128) -> String {
    let thousand = match small(n / 1000) {
        0 => String::new(),
        1 => "mil".to_owned(),
        thousand => format!("{} mil", below_thousand(thousand)),
    };
    join(&[&thousand, &below_thousand(small(n % 1000))], " e ")
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
        1 => format!("um {one}"),
        _ => format!("{} {many}", below_million(count)),
    };
    let billion = power(n / 1_000_000_000_000, "bilião", "biliões");
    let million = power(n / 1_000_000 % 1_000_000, "milhão", "milhões");
    let rest = below_million(n % 1_000_000);
    Some(without_idle_and(join(&[&billion, &million, &rest], " e ")))
}

/// Drops the "e" after a power before hundreds that are followed by more: "mil e
/// duzentos", but "mil duzentos e um".
fn without_idle_and(mut words: String) -> String {
    for power in POWERS {
        let linked = format!("{power} e ");
        let idle = words.match_indices(&linked).any(|(at, _)| {
            let after = &words[at + linked.len()..];
            after.split_once(' ').is_some_and(|(word, more)| {
                (word.ends_with("ento") || word.ends_with("entos")) && more.contains('e')
            })
        });
        if idle {
            words = words.replace(&linked, &format!("{power} "));
        }
    }
    words
}

fn ordinal_below_thousand(n: usize) -> String {
    let (hundreds, tens) = (ORDINAL_HUNDREDS[n / 100], ORDINAL_TENS[n % 100 / 10]);
    join(&[hundreds, tens, ORDINAL_ONES[n % 10]], " ")
}

fn ordinal(n: u128) -> Option<String> {
    if n == 0 || n >= 1_000_000 {
        return None;
    }
    let thousand = match small(n / 1000) {
        0 => String::new(),
        1 => "milésimo".to_owned(),
        thousand => format!("{} milésimo", ordinal_below_thousand(thousand)),
    };
    let rest = ordinal_below_thousand(small(n % 1000));
    Some(join(&[&thousand, &rest], " "))
}

fn decimal(value: Float) -> Option<String> {
    // The digits count as "followed by more" too.
    digit_by_digit(value, "vírgula", cardinal).map(without_idle_and)
}

fn money(money: Money) -> MoneyWords {
    let (unit, cent) = match money.currency {
        Currency::Pound => (["libra", "libras"], ["péni", "pence"]),
        Currency::Dollar => (["dólar", "dólares"], ["cêntimo", "cêntimos"]),
        Currency::Euro => (["euro", "euros"], ["cêntimo", "cêntimos"]),
    };
    let words = || {
        let mut words = cardinal(money.whole)?;
        if money.whole > 0 && money.whole.is_multiple_of(1_000_000) {
            words += " de";
        }
        words = format!("{words} {}", unit[usize::from(money.whole != 1)]);
        if money.cents == 0 && money.currency != Currency::Pound {
            return Some(words);
        }
        let cents = cardinal(u128::from(money.cents))?;
        Some(format!(
            "{words} e {cents} {}",
            cent[usize::from(money.cents != 1)]
        ))
    };
    words().into()
}
