//! Persian, as a table: `data/persian.txt`.

use myxtts_text::{
    CleanOptions, Diacritics, Language, PersianOptions, Punctuation, clean, clean_with,
};

fn fa() -> Language {
    "fa".parse().unwrap()
}

/// `~` is a half-space, `\uXXXX` a code point.
fn shown(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text.trim();
    while let Some(at) = rest.find("\\u") {
        out += &rest[..at];
        let code = u32::from_str_radix(&rest[at + 2..at + 6], 16).unwrap();
        out.push(char::from_u32(code).unwrap());
        rest = &rest[at + 6..];
    }
    (out + rest).replace('~', "\u{200C}")
}

fn rows() -> Vec<(String, String, String)> {
    include_str!("../data/persian.txt")
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| {
            let [topic, raw, cleaned] = line.split('|').collect::<Vec<_>>().try_into().unwrap();
            (topic.trim().to_owned(), shown(raw), shown(cleaned))
        })
        .collect()
}

#[test]
fn the_table() {
    let rows = rows();
    assert!(rows.len() >= 100, "{} rows", rows.len());
    let mut wrong = Vec::new();
    for (topic, raw, expected) in &rows {
        let cleaned = clean(raw, &fa());
        if cleaned.text != *expected || !cleaned.unsupported.is_empty() {
            let visible = |text: &str| text.replace('\u{200C}', "~");
            wrong.push(format!(
                "{topic}: {}\n  {}\n  {}",
                visible(raw),
                visible(&cleaned.text),
                visible(expected)
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        rows.len(),
        wrong.join("\n")
    );
}

#[test]
fn cleaning_twice_changes_nothing() {
    for (topic, raw, _) in rows() {
        let once = clean(&raw, &fa()).text;
        assert_eq!(clean(&once, &fa()).text, once, "{topic}: {raw}");
    }
}

fn with(change: impl FnOnce(&mut PersianOptions), text: &str) -> String {
    let mut options = CleanOptions::default();
    change(&mut options.persian);
    clean_with(text, &fa(), &options).text
}

#[test]
fn every_choice_has_an_effect() {
    assert_eq!(with(|o| o.diacritics = Diacritics::Keep, "مُحَمَّد"), "مُحَمَّد");
    assert_eq!(
        with(|o| o.punctuation = Punctuation::Persian, "سلام, خوبی?"),
        "سلام، خوبی؟"
    );
    assert_eq!(with(|o| o.join_prefixes = false, "می روم"), "می روم");
    assert_eq!(with(|o| o.join_suffixes = false, "کتاب ها"), "کتاب ها");
}

#[test]
fn a_number_beyond_words_is_read_digit_by_digit() {
    let cleaned = clean(&"1".repeat(30), &fa());
    assert_eq!(cleaned.text, vec!["یک"; 30].join(" "));
    let long = clean(&format!("{}.5", "1".repeat(50)), &fa());
    assert_eq!(long.unsupported.len(), 1);
    insta::assert_snapshot!(long.unsupported[0]);
}
