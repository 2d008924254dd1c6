//! Turning files and flags into layers, and layers into the typed configuration.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::alias::Meaning;
use crate::check::{Refusal, check, check_text, check_truth};
use crate::keys::Keys;
use crate::layer::{Layer, Setting};
use crate::origin::Origin;
use crate::problem::{Place, Problem, Problems};
use crate::source::Source;
use crate::suggest::{Candidate, either, nearest, suggestions};
use crate::yaml::{self, Name, Node, Shape};

/// The typed configuration and the layer it was made from.
#[derive(Clone, Debug)]
pub struct Settings<C> {
    /// The values, as the typed configuration.
    pub config: C,
    layer: Layer,
}

impl<C: DeserializeOwned> Settings<C> {
    /// Makes the typed configuration from merged layers.
    pub fn resolve(keys: &Keys, layer: Layer) -> Result<Self, Problems> {
        let mut sections = Map::new();
        for key in keys.iter() {
            let value = layer
                .get(&key.path)
                .map_or_else(|| key.default.clone(), |s| s.value.clone());
            if let Value::Object(section) = sections
                .entry(key.section())
                .or_insert_with(|| Value::Object(Map::new()))
            {
                section.insert(key.name().to_owned(), value);
            }
        }
        match serde_json::from_value(Value::Object(sections)) {
            Ok(config) => Ok(Self { config, layer }),
            // Every value was checked against its kind, so this is a bound that
            // the schema does not carry; it is still an error and not a panic.
            Err(error) => Err(Problems::from(Problem {
                what: format!("the merged configuration does not fit its types: {error}"),
                place: Place::Named("configuration".to_owned()),
                fix: None,
            })),
        }
    }
}

impl<C> Settings<C> {
    /// Returns where the value of `key` came from, to report a problem with it.
    pub fn place(&self, key: &str) -> Place {
        let origin = self.layer.get(key).map(|setting| &setting.origin);
        Place::Named(origin.map_or_else(|| "default".to_owned(), origin_place))
    }

    /// Returns every value with its origin.
    pub fn layer(&self) -> &Layer {
        &self.layer
    }

    /// Returns whether a person asked for the value of `key`.
    pub fn is_chosen(&self, key: &str) -> bool {
        self.layer
            .get(key)
            .is_some_and(|setting| setting.origin.is_chosen())
    }
}

impl Keys {
    /// Reads the values of a configuration file.
    pub fn file(&self, source: &Source) -> Result<Layer, Problems> {
        let document = yaml::parse(source)?;
        let Shape::Map(sections) = &document.shape else {
            return Err(Problems::from(source.problem(
                document.line,
                document.column,
                document.width(),
                format!(
                    "a configuration is a mapping of sections, but this is {}",
                    document.describe()
                ),
                Some(format!("the sections are {}", self.section_list())),
            )));
        };
        let mut reading = FileReading {
            keys: self,
            source,
            layer: Layer::default(),
            problems: vec![],
        };
        for (name, body) in sections {
            reading.section(name, body);
        }
        match reading.problems.is_empty() {
            true => Ok(reading.layer),
            false => Err(Problems(reading.problems)),
        }
    }

    /// Reads one value given as text: by a flag, an environment variable or `--set`.
    ///
    /// `path` may be an alias.
    pub fn text(&self, path: &str, text: &str, origin: Origin) -> Result<Layer, Problems> {
        let refuse = |what, fix| {
            Problems::from(Problem {
                what,
                place: Place::Named(origin_place(&origin)),
                fix,
            })
        };
        let refused = |refusal: Refusal| refuse(refusal.what, refusal.fix);
        let mut layer = Layer::default();
        if let Some(key) = self.get(path) {
            let value = check_text(key, text).map_err(refused)?;
            layer.set(
                path,
                Setting {
                    value,
                    origin: origin.clone(),
                    alias: None,
                },
            );
            return Ok(layer);
        }
        if self.alias(path).is_some() {
            let node = yaml::parse_value(text).map_err(|why| refuse(why, None))?;
            let (key, value) = self.through_alias(path, &node).map_err(refused)?;
            layer.set(
                key,
                Setting {
                    value,
                    origin: origin.clone(),
                    alias: Some(path.to_owned()),
                },
            );
            return Ok(layer);
        }
        Err(refuse(
            format!("unknown key `{path}`"),
            self.nearest_fix(path),
        ))
    }

    /// Returns the key and the value that `node` means under the alias `path`.
    fn through_alias<'k>(
        &'k self,
        path: &'k str,
        node: &Node,
    ) -> Result<(&'k str, Value), Refusal> {
        let unknown = || Refusal {
            what: format!("unknown key `{path}`"),
            fix: None,
        };
        let alias = self.alias(path).ok_or_else(unknown)?;
        let key = alias.meaning.key().and_then(|key| self.get(key));
        let value = match key {
            Some(key) if !alias.meaning.takes_truth() => check(key, node)?,
            _ => check_truth(path, node)?,
        };
        let value = alias.meaning.translate(value).map_err(|why| Refusal {
            what: format!("`{path}: false` cannot be honoured: {why}"),
            fix: Some("remove the key".to_owned()),
        })?;
        match (key, alias.meaning) {
            (Some(key), _) => Ok((&key.path, value)),
            (None, Meaning::AlwaysOn { .. }) => Ok((path, value)),
            (None, _) => Err(unknown()),
        }
    }

    /// Returns a fix that names the known keys most like `path`, if any is alike.
    ///
    /// Names are compared without their section, which would make everything in
    /// it look alike; a key in the wrong section is a common slip, too.
    pub(crate) fn nearest_fix(&self, path: &str) -> Option<String> {
        let (section, name) = path.rsplit_once('.').unwrap_or(("", path));
        let offered: Vec<String> = self
            .nearest(section, name)
            .iter()
            .map(|candidate| match candidate.flag {
                Some(flag) => format!("`{}` (the flag {flag})", candidate.path),
                None => format!("`{}`", candidate.path),
            })
            .collect();
        match offered.as_slice() {
            [] => None,
            [one] => Some(format!("the nearest known key is {one}")),
            several => Some(format!("did you mean {}?", either(several))),
        }
    }

    /// Returns the keys, older names and flags that `section.name` may stand for.
    pub(crate) fn nearest(&self, section: &str, name: &str) -> Vec<Candidate<'_>> {
        let own = self.iter().map(|key| key.path.as_str());
        let named = own.chain(self.aliases().iter().map(|alias| alias.name));
        let named = named.map(|path| Candidate {
            name: path.rsplit('.').next().unwrap_or_default().to_owned(),
            path,
            flag: None,
        });
        let flags = self.flags().iter().map(|(flag, key)| Candidate {
            name: flag.trim_start_matches('-').replace('-', "_"),
            path: key,
            flag: Some(flag),
        });
        // Of two names equally near, the first is kept: a key whose flag has its
        // name needs no flag to be found.
        suggestions(section, name, named.chain(flags))
    }

    fn section_list(&self) -> String {
        self.sections()
            .map(|section| format!("`{section}`"))
            .collect::<Vec<_>>()
            .join(", ")
    }
}

pub(crate) fn origin_place(origin: &Origin) -> String {
    match origin {
        Origin::Env(name) => format!("environment {name}"),
        other => other.to_string(),
    }
}

/// One pass over a file, collecting everything that is wrong.
struct FileReading<'a> {
    keys: &'a Keys,
    source: &'a Source,
    layer: Layer,
    problems: Vec<Problem>,
}

impl FileReading<'_> {
    fn section(&mut self, name: &Name, body: &Node) {
        if !self.keys.sections().any(|section| section == name.text) {
            let fix = nearest(&name.text, self.keys.sections())
                .map(|section| format!("did you mean the section `{section}`?"))
                .or_else(|| self.keys.nearest_fix(&name.text))
                .unwrap_or_else(|| format!("the sections are {}", self.keys.section_list()));
            self.refuse_name(name, format!("unknown section `{}`", name.text), Some(fix));
            return;
        }
        match &body.shape {
            Shape::Map(entries) => {
                for (key, value) in entries {
                    self.entry(&format!("{}.{}", name.text, key.text), key, value);
                }
            }
            // The section is `data:` with every key below it commented out.
            Shape::Scalar(Value::Null) => {}
            _ => {
                let what = format!(
                    "the section `{}` is a mapping of keys, but this is {}",
                    name.text,
                    body.describe()
                );
                self.refuse_value(body, Refusal { what, fix: None });
            }
        }
    }

    fn entry(&mut self, path: &str, name: &Name, node: &Node) {
        let result = match self.keys.get(path) {
            Some(key) => check(key, node).map(|value| (path, value, None)),
            None if self.keys.alias(path).is_some() => self
                .keys
                .through_alias(path, node)
                .map(|(key, value)| (key, value, Some(path.to_owned()))),
            None => {
                let section = path.split('.').next().unwrap_or_default();
                let what = format!("unknown key `{}` in section `{section}`", name.text);
                let fix = self.keys.nearest_fix(path).or_else(|| {
                    Some(
                        "`myxtts config schema` and docs/reference/configuration.md list the keys"
                            .into(),
                    )
                });
                self.refuse_name(name, what, fix);
                return;
            }
        };
        match result {
            Ok((key, value, alias)) => self.set(key, value, alias, name),
            Err(refusal) => self.refuse_value(node, refusal),
        }
    }

    fn set(&mut self, key: &str, value: Value, alias: Option<String>, name: &Name) {
        let origin = Origin::File {
            name: self.source.name().to_owned(),
            line: name.line,
            column: name.column,
        };
        if let Some(earlier) = self.layer.get(key) {
            // An old file may set the same thing under several names; that is
            // fine as long as they agree.
            if earlier.value != value {
                let other = earlier.alias.as_deref().unwrap_or(key);
                let what = format!(
                    "`{}` contradicts `{other}` ({}): both set `{key}`",
                    alias.as_deref().unwrap_or(key),
                    earlier.origin
                );
                self.refuse_name(name, what, Some(format!("keep `{key}` alone")));
            }
            return;
        }
        self.layer.set(
            key,
            Setting {
                value,
                origin,
                alias,
            },
        );
    }

    fn refuse_name(&mut self, name: &Name, what: String, fix: Option<String>) {
        let width = name.text.chars().count();
        self.problems.push(
            self.source
                .problem(name.line, name.column, width, what, fix),
        );
    }

    fn refuse_value(&mut self, node: &Node, refusal: Refusal) {
        self.problems.push(self.source.problem(
            node.line,
            node.column,
            node.width(),
            refusal.what,
            refusal.fix,
        ));
    }
}
