//! The known keys, read from the JSON Schema of the configuration struct.
//!
//! The struct is the only place where a key, its type, its bounds, its default
//! and its description are written; this module turns that into a table the
//! rest of the crate can search.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::alias::Alias;

/// The kind of value that a key accepts.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// A truth value, `true` or `false`.
    Truth,
    /// A whole number within bounds, both included.
    Whole {
        /// The smallest value allowed.
        min: i64,
        /// The largest value allowed.
        max: i64,
    },
    /// A number within bounds, both included.
    Number {
        /// The smallest value allowed.
        min: f64,
        /// The largest value allowed.
        max: f64,
    },
    /// Any text at all.
    Text,
    /// One of a fixed set of words.
    Word(Vec<String>),
    /// A list, which may also be written as comma-separated text.
    List(Box<Kind>),
    /// Any of several kinds.
    Either(Vec<Kind>),
}

/// A configuration key and what it accepts.
#[derive(Clone, Debug)]
pub struct Key {
    /// The full name, as `section.key`.
    pub path: String,
    /// What the key is for, from the doc comment.
    pub description: String,
    /// The kind of value it accepts.
    pub kind: Kind,
    /// The word for "not set", for keys that may be left to the program.
    pub unset: Option<String>,
    /// The value that is built in.
    pub default: Value,
    /// Whether the value names a file or a folder.
    pub is_path: bool,
    /// Why it takes only one value, for keys that do.
    pub only: Option<String>,
}

impl Key {
    /// Returns the section that the key is in.
    pub fn section(&self) -> &str {
        self.path.split('.').next().unwrap_or_default()
    }

    /// Returns the key's name without its section.
    pub fn name(&self) -> &str {
        self.path.rsplit('.').next().unwrap_or_default()
    }

    /// Formats a value of this key as a person writes it.
    pub fn show(&self, value: &Value) -> String {
        match value {
            Value::Null => self.unset.clone().unwrap_or_else(|| "null".to_owned()),
            Value::String(text) => text.clone(),
            Value::Array(items) => {
                let items: Vec<String> = items.iter().map(|item| self.show(item)).collect();
                items.join(",")
            }
            other => other.to_string(),
        }
    }
}

/// All keys and aliases of a configuration.
#[derive(Clone, Debug)]
pub struct Keys {
    keys: Vec<Key>,
    aliases: &'static [Alias],
    /// Flags with their dashes, and the keys that they set.
    flags: Vec<(String, String)>,
    schema: Value,
}

impl Keys {
    /// Reads the keys from the shape and the defaults of `C`.
    pub fn of<C: JsonSchema + Serialize + Default>(aliases: &'static [Alias]) -> Self {
        let generator = SchemaSettings::draft2020_12()
            .with(|settings| settings.inline_subschemas = true)
            .into_generator();
        let mut schema = generator.into_root_schema_for::<C>().to_value();
        let defaults = serde_json::to_value(C::default()).unwrap_or_default();
        let mut keys = Vec::new();
        for (section, body) in properties(&schema) {
            for (name, spec) in properties(body) {
                keys.push(Key {
                    path: format!("{section}.{name}"),
                    description: text(spec, "description").replace('\n', " "),
                    kind: kind_of(spec),
                    unset: accepts_null(spec).then(|| match text(spec, "x-unset") {
                        "" => "auto".to_owned(),
                        word => word.to_owned(),
                    }),
                    default: defaults[section.as_str()][name.as_str()].clone(),
                    is_path: spec.get("x-path") == Some(&Value::Bool(true)),
                    only: Some(text(spec, "x-only").to_owned()).filter(|why| !why.is_empty()),
                });
            }
        }
        close(&mut schema, aliases);
        Self {
            keys,
            aliases,
            flags: vec![],
            schema,
        }
    }

    /// Adds the flags that set keys, so that somebody who knows a key by its flag
    /// is told its name.
    #[must_use]
    pub fn with_flags(mut self, flags: impl IntoIterator<Item = (String, String)>) -> Self {
        self.flags.extend(flags);
        self
    }

    pub(crate) fn flags(&self) -> &[(String, String)] {
        &self.flags
    }

    /// Returns every key, section by section.
    pub fn iter(&self) -> impl Iterator<Item = &Key> {
        self.keys.iter()
    }

    /// Returns the key `section.key`, if there is one.
    pub fn get(&self, path: &str) -> Option<&Key> {
        self.keys.iter().find(|key| key.path == path)
    }

    /// Returns the older names that are accepted.
    pub fn aliases(&self) -> &'static [Alias] {
        self.aliases
    }

    pub(crate) fn alias(&self, path: &str) -> Option<&'static Alias> {
        self.aliases.iter().find(|alias| alias.name == path)
    }

    /// Returns the names of the sections.
    pub fn sections(&self) -> impl Iterator<Item = &str> {
        let mut last = "";
        self.keys.iter().map(Key::section).filter(move |section| {
            let new = *section != last;
            last = section;
            new
        })
    }

    /// Returns the JSON Schema of a configuration file, aliases included.
    pub fn schema(&self) -> &Value {
        &self.schema
    }
}

/// Makes the schema say what the loader does: unknown keys are errors, aliases are known.
fn close(schema: &mut Value, aliases: &[Alias]) {
    let Some(sections) = schema.get_mut("properties").and_then(Value::as_object_mut) else {
        return;
    };
    for (section, body) in sections.iter_mut() {
        let Some(body) = body.as_object_mut() else {
            continue;
        };
        body.insert("additionalProperties".to_owned(), Value::Bool(false));
        let Some(keys) = body.get_mut("properties").and_then(Value::as_object_mut) else {
            continue;
        };
        for alias in aliases {
            let Some(name) = alias.name.strip_prefix(&format!("{section}.")) else {
                continue;
            };
            let meaning = match alias.meaning.key() {
                Some(key) => format!("Older name; use `{key}`."),
                None => "Older name of something that is always on.".to_owned(),
            };
            keys.insert(
                name.to_owned(),
                serde_json::json!({ "description": meaning, "deprecated": true }),
            );
        }
    }
    if let Some(root) = schema.as_object_mut() {
        root.insert("additionalProperties".to_owned(), Value::Bool(false));
    }
}

fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(Map::iter)
}

fn text<'a>(schema: &'a Value, field: &str) -> &'a str {
    schema
        .get(field)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn alternatives(schema: &Value) -> Option<&Vec<Value>> {
    schema
        .get("anyOf")
        .or_else(|| schema.get("oneOf"))
        .and_then(Value::as_array)
}

fn types(schema: &Value) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(one)) => vec![one.as_str()],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

fn accepts_null(schema: &Value) -> bool {
    types(schema).contains(&"null")
        || alternatives(schema).is_some_and(|any| any.iter().any(accepts_null))
}

fn words(schema: &Value) -> Vec<String> {
    let listed = schema
        .get("enum")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let constant = schema.get("const").into_iter();
    listed
        .chain(constant)
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

fn kind_of(schema: &Value) -> Kind {
    let own = words(schema);
    if !own.is_empty() {
        return Kind::Word(own);
    }
    if let Some(any) = alternatives(schema) {
        let mut kinds = Vec::new();
        let mut choice = Vec::new();
        for alternative in any
            .iter()
            .filter(|alternative| types(alternative) != ["null"])
        {
            match kind_of(alternative) {
                Kind::Word(words) => choice.extend(words),
                other => kinds.push(other),
            }
        }
        if !choice.is_empty() {
            kinds.insert(0, Kind::Word(choice));
        }
        return match kinds.len() {
            1 => kinds.remove(0),
            _ => Kind::Either(kinds),
        };
    }
    let bound = |field: &str| schema.get(field).and_then(Value::as_f64);
    match types(schema).first() {
        Some(&"boolean") => Kind::Truth,
        Some(&"integer") => Kind::Whole {
            min: schema
                .get("minimum")
                .and_then(Value::as_i64)
                .unwrap_or(i64::MIN),
            max: schema
                .get("maximum")
                .and_then(Value::as_i64)
                .unwrap_or(i64::MAX),
        },
        Some(&"number") => Kind::Number {
            min: bound("minimum").unwrap_or(f64::MIN),
            max: bound("maximum").unwrap_or(f64::MAX),
        },
        Some(&"array") => Kind::List(Box::new(schema.get("items").map_or(Kind::Text, kind_of))),
        _ => Kind::Text,
    }
}
