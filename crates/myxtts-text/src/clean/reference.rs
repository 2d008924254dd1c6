//! The order of the reference: quotes removed, lower case, numbers, abbreviations,
//! symbols, spaces.
//!
//! Words for numbers come after lower-casing and are not lower-cased
//! themselves, so German "12,5" gives "zwölf Komma fünf". That capital is
//! outside the published vocabulary; coverage reports it.

use super::pattern::collapse_spaces;
use super::{Gap, Gaps, numbers, symbols};

pub(super) fn clean(text: &str, gaps: &mut Gaps<'_>) -> String {
    let base = gaps.language.base().to_owned();
    let mut text = text.replace('"', "");
    if base == "tr" {
        // Before lower-casing, which would turn İ into "i̇".
        text = text.replace('İ', "i").replace('Ö', "ö").replace('Ü', "ü");
    }
    text = text.to_lowercase();
    if matches!(&*base, "ja" | "zh" | "ko") {
        let text = collapse_spaces(&text);
        if text.chars().any(|c| !c.is_ascii() && c.is_alphabetic()) {
            gaps.report(Gap::Romanisation, &text);
        }
        return text;
    }
    text = numbers::expand(&text, &base, gaps);
    text = symbols::expand_abbreviations(text, &base);
    text = symbols::expand_symbols(text, &base);
    collapse_spaces(&text)
}
