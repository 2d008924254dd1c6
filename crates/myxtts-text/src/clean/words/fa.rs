//! Persian number words.
//!
//! Every part is joined by «و», also after a thousand: هزار و دویست و سی.
//! A thousand is «هزار», not «یک هزار». The scale is the Iranian one:
//! میلیون، میلیارد، تریلیون، کوادریلیون.

use super::{join, table, thousands};

const SMALL: [&str; 20] = table(
    "صفر یک دو سه چهار پنج شش هفت هشت نه ده یازده دوازده سیزده چهارده پانزده شانزده هفده هجده \
     نوزده",
);
const TENS: [&str; 10] = table("_ _ بیست سی چهل پنجاه شصت هفتاد هشتاد نود");
const HUNDREDS: [&str; 10] = table("_ صد دویست سیصد چهارصد پانصد ششصد هفتصد هشتصد نهصد");
const POWERS: [&str; 6] = ["", "هزار", "میلیون", "میلیارد", "تریلیون", "کوادریلیون"];
const AND: &str = " و ";

/// The names of tenths, hundredths... as «ممیز» reads them.
const PARTS: [&str; 6] = [
    "دهم",
    "صدم",
    "هزارم",
    "ده\u{200C}هزارم",
    "صدهزارم",
    "میلیونیم",
];

fn below_thousand(n: usize) -> String {
    let tens = n % 100;
    let (ten, one) = if tens < 20 {
        (0, tens)
    } else {
        (tens / 10, tens % 10)
    };
    let one = if one == 0 { "" } else { SMALL[one] };
    join(&[HUNDREDS[n / 100], TENS[ten], one], AND)
}

/// Says a number below 10¹⁸.
pub(in crate::clean) fn cardinal(n: u128) -> Option<String> {
    if n == 0 {
        return Some(SMALL[0].to_owned());
    }
    let mut parts = Vec::new();
    for (group, power) in thousands(n) {
        parts.push(match (group, power) {
            (_, 0) => below_thousand(group),
            (1, 1) => POWERS[1].to_owned(),
            _ => format!("{} {}", below_thousand(group), POWERS.get(power)?),
        });
    }
    Some(parts.join(AND))
}

/// Says the ordinal in «ـُم»: یکم، دوم، سوم، سی‌ام.
///
/// «اول» is another word for the first, not the reading of ۱م.
pub(in crate::clean) fn ordinal(n: u128) -> Option<String> {
    let words = cardinal(n)?;
    Some(match words.strip_suffix("سه") {
        Some(stem) => format!("{stem}سوم"),
        // After «ی» the suffix is written apart, with a half-space.
        None if words.ends_with('ی') => format!("{words}\u{200C}ام"),
        None => format!("{words}م"),
    })
}

/// Says the ordinal in «ـُمین»: دومین، سی‌امین.
pub(in crate::clean) fn ordinal_attributive(n: u128) -> Option<String> {
    Some(ordinal(n)? + "ین")
}

/// Says a decimal fraction the way it is taught and broadcast:
/// ۲٫۵ «دو ممیز پنج دهم», ۳٫۱۴ «سه ممیز چهارده صدم».
///
/// Trailing zeroes are read (۲٫۵۰ is «پنجاه صدم»: the writer gave two places).
/// More than six places are read digit by digit after «ممیز».
pub(in crate::clean) fn decimal(whole: u128, fraction: &str) -> Option<String> {
    let whole = cardinal(whole)?;
    let numerator: u128 = fraction.parse().ok()?;
    if let Some(part) = PARTS.get(fraction.len().checked_sub(1)?) {
        return Some(if numerator == 0 {
            format!("{whole} ممیز صفر")
        } else {
            format!("{whole} ممیز {} {part}", cardinal(numerator)?)
        });
    }
    let digits: Vec<&str> = fraction
        .bytes()
        .map(|b| SMALL[usize::from(b.saturating_sub(b'0')).min(9)])
        .collect();
    Some(format!("{whole} ممیز {}", digits.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_are_joined_by_and() {
        assert_eq!(cardinal(0).unwrap(), "صفر");
        assert_eq!(cardinal(1000).unwrap(), "هزار");
        assert_eq!(cardinal(1_234).unwrap(), "هزار و دویست و سی و چهار");
        assert_eq!(cardinal(1_000_001).unwrap(), "یک میلیون و یک");
        assert_eq!(cardinal(10u128.pow(15)).unwrap(), "یک کوادریلیون");
        assert_eq!(cardinal(10u128.pow(18)), None);
    }

    #[test]
    fn ordinals_follow_the_last_letter() {
        assert_eq!(ordinal(1).unwrap(), "یکم");
        assert_eq!(ordinal(3).unwrap(), "سوم");
        assert_eq!(ordinal(30).unwrap(), "سی\u{200C}ام");
        assert_eq!(ordinal(23).unwrap(), "بیست و سوم");
        assert_eq!(ordinal_attributive(2).unwrap(), "دومین");
        assert_eq!(ordinal_attributive(30).unwrap(), "سی\u{200C}امین");
    }

    #[test]
    fn decimals_name_their_places() {
        assert_eq!(decimal(2, "5").unwrap(), "دو ممیز پنج دهم");
        assert_eq!(decimal(3, "14").unwrap(), "سه ممیز چهارده صدم");
        assert_eq!(decimal(0, "05").unwrap(), "صفر ممیز پنج صدم");
        assert_eq!(decimal(1, "0").unwrap(), "یک ممیز صفر");
        assert_eq!(
            decimal(1, "1234567").unwrap(),
            "یک ممیز یک دو سه چهار پنج شش هفت"
        );
    }
}
