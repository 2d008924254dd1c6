//! A tree of settings as dotted keys.

use std::collections::BTreeMap;

use serde_json::Value;

/// Returns the leaves of `value` by dotted key. A list is a leaf: its elements
/// have no names, and a changed list is one change.
pub(super) fn flatten(value: &Value) -> BTreeMap<String, Value> {
    let mut leaves = BTreeMap::new();
    descend(String::new(), value, &mut leaves);
    leaves
}

fn descend(key: String, value: &Value, leaves: &mut BTreeMap<String, Value>) {
    match value {
        Value::Object(fields) if !fields.is_empty() || key.is_empty() => {
            for (name, value) in fields {
                let key = if key.is_empty() {
                    name.clone()
                } else {
                    format!("{key}.{name}")
                };
                descend(key, value, leaves);
            }
        }
        leaf => {
            leaves.insert(key, leaf.clone());
        }
    }
}
