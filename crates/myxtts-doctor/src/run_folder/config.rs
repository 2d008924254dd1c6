//! `config.yaml`, as a training writes it: two levels, values as JSON has
//! them, a comment with the origin. A key without a value is commented out.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::Note;
use crate::signal::Signal;
use crate::signals::{CacheKind, Signals};

/// Fills in what the configuration says.
pub(super) fn fill(path: &Path, signals: &mut Signals, notes: &mut Vec<Note>) {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(why) => {
            notes.push(Note::Unreadable {
                file: "config.yaml",
                why: why.to_string(),
            });
            let why = format!("config.yaml: {why}");
            signals.settings.keys = Signal::unavailable(why.clone());
            signals.settings.cache = Signal::unavailable(why.clone());
            signals.settings.buckets = Signal::unavailable(why);
            return;
        }
    };
    let keys = keys(&text);
    let settings = &mut signals.settings;
    let missing = |key: &str| format!("config.yaml has no {key}");
    let cache = keys
        .get("data.cache")
        .and_then(|value| match value.as_str() {
            "none" => Some(CacheKind::None),
            "memory" => Some(CacheKind::Memory),
            "disk" => Some(CacheKind::Disk),
            _ => None,
        });
    settings.cache = Signal::from_option(cache, missing("data.cache"));
    let buckets = keys
        .get("data.buckets")
        .and_then(|value| value.parse().ok());
    settings.buckets = Signal::from_option(buckets, missing("data.buckets"));
    settings.keys = keys.into();
}

/// Returns the value of each `section.key` as text, without quotes.
fn keys(text: &str) -> BTreeMap<String, String> {
    let mut section = "";
    let mut keys = BTreeMap::new();
    for line in text.lines() {
        let content = line.trim_start();
        if content.starts_with('#') || content.is_empty() {
            continue;
        }
        let Some((key, rest)) = content.split_once(':') else {
            continue;
        };
        if content.len() == line.len() {
            section = key;
            continue;
        }
        let value = unquoted(rest.trim());
        keys.insert(format!("{section}.{key}"), value);
    }
    keys
}

/// Returns the text of a JSON string, or what stands before a comment.
fn unquoted(rest: &str) -> String {
    let mut values = serde_json::Deserializer::from_str(rest).into_iter::<serde_json::Value>();
    match values.next() {
        Some(Ok(serde_json::Value::String(text))) => text,
        _ => rest.split(" #").next().unwrap_or(rest).trim().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_a_training_writes_it() {
        let text = "data:\n  # train_data: sample corpus  # default\n  cache: \"disk\"  # default\n  \
                    buckets: 8  # default\n  trim_silence: true  # flag --cache\ntraining:\n  \
                    name: \"a # b\"  # default\n  visible_gpus: [0, 1]  # default\n";
        let keys = keys(text);
        let found: Vec<String> = keys
            .iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        assert_eq!(
            found,
            [
                "data.buckets=8",
                "data.cache=disk",
                "data.trim_silence=true",
                "training.name=a # b",
                "training.visible_gpus=[0, 1]",
            ]
        );
    }
}
