//! Turkish: written as one word.
//!
//! The reference expands no decimals and no currencies here.

use super::{MoneyWords, Words, table, thousands};

pub(super) const WORDS: Words = Words {
    cardinal,
    ordinal,
    decimal: |_| None,
    money: |_| MoneyWords::NotInReference,
};

const ONES: [&str; 10] = table("_ bir iki üç dört beş altı yedi sekiz dokuz");
const TENS: [&str; 10] = table("_ on yirmi otuz kırk elli altmış yetmiş seksen doksan");
const POWERS: [&str; 3] = ["", "bin", "milyon"];

fn below_thousand(n: usize) -> String {
    let hundred = match n / 100 {
        0 => String::new(),
        1 => "yüz".to_owned(),
        hundred => format!("{}yüz", ONES[hundred]),
    };
    format!("{hundred}{}{}", TENS[n % 100 / 10], ONES[n % 10])
}

fn cardinal(n: u128) -> Option<String> {
    if n >= 1_000_000_000 {
        return None;
    }
    if n == 0 {
        return Some("sıfır".to_owned());
    }
    Some(
        thousands(n)
            .into_iter()
            .map(|(group, power)| match (group, power) {
                (1, 1) => "bin".to_owned(),
                // A fault of `num2words`, kept: 201,100 is said as 200,100.
                (group, 1)
                    if group > 100
                        && group % 10 == 1
                        && n < 1_000_000
                        && !n.is_multiple_of(1000) =>
                {
                    below_thousand(group - 1) + "bin"
                }
                _ => below_thousand(group) + POWERS[power],
            })
            .collect(),
    )
}

/// Says an ordinal; the suffix follows the last vowel of the number.
fn ordinal(n: u128) -> Option<String> {
    let words = cardinal(n)?;
    let vowel = words.chars().rev().find(|c| "aıoueiöü".contains(*c))?;
    let harmonic = match vowel {
        'a' | 'ı' => 'ı',
        'o' | 'u' => 'u',
        'e' | 'i' => 'i',
        _ => 'ü',
    };
    Some(if words.ends_with(vowel) {
        format!("{words}nc{harmonic}")
    } else if let Some(stem) = words.strip_suffix("dört") {
        format!("{stem}dördüncü")
    } else {
        format!("{words}{harmonic}nc{harmonic}")
    })
}
