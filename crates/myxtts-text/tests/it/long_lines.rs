//! A line of a megabyte, whatever it is made of, is cleaned in about linear
//! time: a hostile transcript must not stop `prepare`.

use std::time::{Duration, Instant};

use myxtts_text::clean;

#[test]
fn a_megabyte_of_anything_is_cleaned_in_seconds() {
    let units = [
        "1,234 ",
        "12",
        "$1.5",
        "a",
        "1a234",
        "£",
        "می ",
        "۱۲٫۵ ",
        ".",
        "mr.",
        "[STOP]",
        "ه ی ",
        "....",
        "x...y ",
        "1.",
        "-5 ",
        "…",
        "\u{200C}",
        "5م ",
        "]",
        "1,",
        "€",
        "0",
    ];
    for language in ["en", "de", "fa", "tr"] {
        for unit in units {
            let text = unit.repeat((1 << 20) / unit.len());
            let start = Instant::now();
            let cleaned = clean(&text, &language.parse().unwrap());
            let took = start.elapsed();
            assert!(
                took < Duration::from_secs(60),
                "{language} {unit:?}: {took:?}"
            );
            drop(cleaned);
        }
    }
}
