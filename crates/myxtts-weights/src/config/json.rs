//! JSON as Python writes it: with `Infinity`, `-Infinity` and `NaN`.
//!
//! Inside this program such a number is the text `float:Infinity`, so that
//! one JSON library serves; on the way out it becomes a bare word again.

use serde::Serialize;
use serde::de::DeserializeOwned;

const WORDS: [&str; 3] = ["-Infinity", "Infinity", "NaN"];
const MARK: &str = "float:";

pub(super) fn read<T: DeserializeOwned>(text: &str) -> serde_json::Result<T> {
    serde_json::from_str(&quoted(text))
}

pub(super) fn write(value: &impl Serialize) -> serde_json::Result<String> {
    let mut text = serde_json::to_string_pretty(value)?;
    for word in WORDS {
        text = text.replace(&format!("\"{MARK}{word}\""), word);
    }
    text.push('\n');
    Ok(text)
}

/// Quotes the bare words, outside of strings only.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut in_string = false;
    while let Some(next) = rest.chars().next() {
        let word = WORDS
            .iter()
            .find(|word| !in_string && rest.starts_with(**word));
        if let Some(word) = word {
            out.extend(["\"", MARK, word, "\""]);
            rest = &rest[word.len()..];
            continue;
        }
        // A backslash takes the character after it along.
        let length = match next {
            '\\' if in_string => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
            next => next.len_utf8(),
        };
        in_string ^= next == '"';
        let (copied, left) = rest.split_at(length);
        out.push_str(copied);
        rest = left;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn numbers_that_json_does_not_have_survive() {
        let text = r#"{"a": Infinity, "b": [-Infinity, NaN], "c": "Infinity \" NaN", "d\\": 1}"#;
        let value: Value = read(text).unwrap();
        assert_eq!(value["c"], "Infinity \" NaN");
        let written = write(&value).unwrap();
        assert!(written.contains("\"a\": Infinity"), "{written}");
        assert!(written.contains("-Infinity"), "{written}");
        assert_eq!(read::<Value>(&written).unwrap(), value);
        assert!(serde_json::from_str::<Value>(text).is_err());
    }

    #[test]
    fn broken_json_is_an_error_and_not_a_panic() {
        for text in ["", "{", "\"\\", "{\"a\": Infinit}", "\"é\\é", "NaNNaN"] {
            assert!(read::<Value>(text).is_err(), "{text}");
        }
    }
}
