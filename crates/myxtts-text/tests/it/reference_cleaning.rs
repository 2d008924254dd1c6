//! Cleaning against the Python reference: `data/reference_cleaning.tsv`, made
//! by `data/make_reference_cleaning.py`.

use myxtts_text::{Language, clean};

fn unescape(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, c == '\\') {
            (_, true) => out.push(match chars.next() {
                Some('t') => '\t',
                Some('n') => '\n',
                other => other.unwrap_or('\\'),
            }),
            _ => out.push(c),
        }
    }
    out
}

#[test]
fn every_row_is_what_the_reference_says() {
    let table = include_str!("../data/reference_cleaning.tsv");
    let (mut wrong, mut compared, mut reported) = (Vec::new(), 0, 0);
    for row in table.lines() {
        let [language, text, expected] = row.split('\t').collect::<Vec<_>>().try_into().unwrap();
        let language: Language = language.parse().unwrap();
        let cleaned = clean(&unescape(text), &language);
        let expected = unescape(expected);
        if expected.starts_with("raises") {
            // Where the reference stops, we go on and say so.
            assert!(!cleaned.unsupported.is_empty(), "{language}: {text}");
            reported += 1;
        } else if !cleaned.unsupported.is_empty() {
            println!("{}", cleaned.unsupported[0]);
            reported += 1;
        } else if cleaned.text != expected {
            wrong.push(format!(
                "{language}: {text}\n  {}\n  {expected}",
                cleaned.text
            ));
        } else {
            compared += 1;
        }
    }
    assert!(wrong.is_empty(), "{}\n{}", wrong.len(), wrong.join("\n"));
    println!("{compared} rows equal, {reported} reported");
    assert!(
        compared > 480 && reported < 40,
        "{compared} compared, {reported} reported"
    );
}
