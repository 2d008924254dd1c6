//! A configuration as a file that reproduces it.

use myxtts_config::{Keys, Setting, Settings};
use serde_json::Value;

use super::Config;

/// Returns the configuration in force as a file that reproduces it, with the origin of every
/// value.
pub(crate) fn effective_yaml(keys: &Keys, settings: &Settings<Config>) -> String {
    let mut text = String::new();
    let mut section = "";
    for (path, setting) in in_declared_order(keys, settings) {
        let Some((of, key)) = path.split_once('.') else {
            continue;
        };
        if of != section {
            text.push_str(&format!("{of}:\n"));
            section = of;
        }
        // A JSON value is a YAML value; a value that is not set becomes a comment.
        let line = match (&setting.value, keys.get(path)) {
            (Value::Null, Some(key_of)) => {
                format!("  # {key}: {}", key_of.show(&setting.value))
            }
            (value, _) => format!("  {key}: {value}"),
        };
        text.push_str(&format!("{line}  # {}\n", setting.origin));
    }
    text
}

/// Returns what a person chose, and these edits, as a file that reproduces it. An edit without a
/// value undoes a choice.
pub(crate) fn chosen_yaml(
    keys: &Keys,
    settings: &Settings<Config>,
    edits: &[(String, Option<Value>)],
) -> String {
    let edit = |path: &str| edits.iter().find(|(edited, _)| edited == path);
    let value = |path: &str| match (edit(path), settings.layer().get(path)) {
        (Some((_, value)), _) => value.clone(),
        (None, Some(setting)) if setting.origin.is_chosen() => Some(setting.value.clone()),
        (None, _) => None,
    };
    let mut text = String::new();
    let mut section = "";
    for key in keys.iter() {
        let Some(value) = value(&key.path).filter(|value| !value.is_null()) else {
            continue;
        };
        if key.section() != section {
            section = key.section();
            text.push_str(&format!("{section}:\n"));
        }
        text.push_str(&format!("  {}: {value}\n", key.name()));
    }
    text
}

/// Returns every value in force: in the order of the keys, then what is set by older names.
pub fn in_declared_order<'a>(
    keys: &'a Keys,
    settings: &'a Settings<Config>,
) -> impl Iterator<Item = (&'a str, &'a Setting)> {
    let layer = settings.layer();
    let declared = keys.iter().map(|key| key.path.as_str());
    let others = layer
        .iter()
        .map(|(path, _)| path)
        .filter(|path| keys.get(path).is_none());
    declared
        .chain(others)
        .filter_map(|path| Some((path, layer.get(path)?)))
}
