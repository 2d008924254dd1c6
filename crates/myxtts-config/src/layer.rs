//! Sets of values with their origins, and how two sets become one.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::origin::Origin;

/// A value and where it came from.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// The checked value, as JSON.
    pub value: Value,
    /// The place the value came from.
    pub origin: Origin,
    /// The alias it was written under, if it was not the key's own name.
    pub alias: Option<String>,
}

/// A set of values by `section.key`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layer(BTreeMap<String, Setting>);

impl Layer {
    /// Makes a layer of the values of `config`, all with one origin.
    ///
    /// `config` is a struct of sections, each a struct of values, so its JSON is
    /// two levels deep. Anything else has no keys and gives no settings.
    pub fn of<C: Serialize>(config: &C, origin: &Origin) -> Self {
        let mut layer = Self::default();
        let Ok(Value::Object(sections)) = serde_json::to_value(config) else {
            return layer;
        };
        for (section, values) in sections {
            let Value::Object(values) = values else {
                continue;
            };
            for (key, value) in values {
                layer.set(
                    &format!("{section}.{key}"),
                    Setting {
                        value,
                        origin: origin.clone(),
                        alias: None,
                    },
                );
            }
        }
        layer
    }

    /// Makes a layer of a named set of values.
    pub fn preset<'a>(name: &str, values: impl IntoIterator<Item = (&'a str, Value)>) -> Self {
        Self::from_one(&Origin::Preset(name.to_owned()), values)
    }

    /// Makes a layer of values that share one origin.
    pub fn from_one<'a>(
        origin: &Origin,
        values: impl IntoIterator<Item = (&'a str, Value)>,
    ) -> Self {
        let setting = |value| Setting {
            value,
            origin: origin.clone(),
            alias: None,
        };
        Self(
            values
                .into_iter()
                .map(|(key, value)| (key.to_owned(), setting(value)))
                .collect(),
        )
    }

    /// Puts `over` on top of this layer: where both have a key, `over` wins,
    /// origin included.
    #[must_use]
    pub fn merge(mut self, over: Self) -> Self {
        self.0.extend(over.0);
        self
    }

    /// Returns the setting of a key, if the layer has one.
    pub fn get(&self, key: &str) -> Option<&Setting> {
        self.0.get(key)
    }

    /// Returns all settings in the order of their keys.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Setting)> {
        self.0.iter().map(|(key, setting)| (key.as_str(), setting))
    }

    pub(crate) fn set(&mut self, key: &str, setting: Setting) {
        self.0.insert(key.to_owned(), setting);
    }
}
