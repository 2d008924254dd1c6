//! What cleaning cannot do is reported and left alone, and Unicode is composed
//! where that is safe.

use myxtts_text::{Cleaned, Gap, clean};

fn cleaned(text: &str, language: &str) -> Cleaned {
    clean(text, &language.parse().unwrap())
}

#[test]
fn a_czech_ordinal() {
    let cleaned = cleaned("To je 1. test a 2 psi", "cs");
    // The cardinal after it is spoken; the ordinal is not made a cardinal.
    assert_eq!(cleaned.text, "to je 1. test a dva psi");
    insta::assert_snapshot!(cleaned.unsupported[0]);
}

#[test]
fn scripts_that_need_a_dictionary() {
    for (language, text) in [("ja", "今日は"), ("zh-cn", "你好"), ("ko", "안녕")] {
        let cleaned = cleaned(text, language);
        assert_eq!(cleaned.text, text);
        assert_eq!(cleaned.unsupported[0].what, Gap::Romanisation);
    }
    insta::assert_snapshot!(cleaned("今日は", "ja").unsupported[0]);
    assert!(cleaned("konnichiwa", "ja").unsupported.is_empty());
}

#[test]
fn a_language_the_reference_does_not_know() {
    let cleaned = cleaned("Було 12 \"Слів\"", "uk");
    assert_eq!(cleaned.text, "було 12 слів");
    insta::assert_snapshot!(cleaned.unsupported[0]);
}

#[test]
fn every_number_is_listed() {
    let cleaned = cleaned("5 और 10 और 15", "hi");
    let texts: Vec<&str> = cleaned
        .unsupported
        .iter()
        .map(|gap| gap.text.as_str())
        .collect();
    assert_eq!(texts, ["5", "10", "15"]);
}

#[test]
fn a_number_beyond_the_tables() {
    let cleaned = cleaned(&format!("{} and 7", "9".repeat(60)), "en");
    assert_eq!(cleaned.text, format!("{} and seven", "9".repeat(60)));
    assert_eq!(cleaned.unsupported.len(), 1);
}

#[test]
fn text_is_composed_where_that_is_safe() {
    assert_eq!(cleaned("cafe\u{301}", "fr").text, "caf\u{E9}");
    // Shadda then fatha, as typed; NFC would swap them.
    assert_eq!(cleaned("م\u{651}\u{64E}", "ar").text, "م\u{651}\u{64E}");
    assert_eq!(cleaned("\u{958}", "hi").text, "\u{958}");
}
