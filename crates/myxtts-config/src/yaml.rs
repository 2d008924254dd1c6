//! The only module that knows which YAML crate is used.
//!
//! Everything is read into [`Node`]s that keep line and column, under budgets
//! small enough that no file can exhaust the machine: aliases that unfold into
//! gigabytes, endless nesting and giant scalars end as located errors.

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Number, Value};
use serde_saphyr::{DuplicateKeyPolicy, Spanned};

use crate::problem::Problem;
use crate::source::Source;

/// A piece of YAML and its position (line and column, from 1).
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) line: u64,
    pub(crate) column: u64,
    pub(crate) shape: Shape,
}

#[derive(Clone, Debug)]
pub(crate) enum Shape {
    Scalar(Value),
    List(Vec<Node>),
    Map(Vec<(Name, Node)>),
}

/// A mapping key and its position.
#[derive(Clone, Debug)]
pub(crate) struct Name {
    pub(crate) line: u64,
    pub(crate) column: u64,
    pub(crate) text: String,
}

impl Node {
    /// Describes the node for an error message.
    pub(crate) fn describe(&self) -> String {
        match &self.shape {
            Shape::Scalar(Value::Null) => "nothing".to_owned(),
            Shape::Scalar(Value::String(text)) => format!("the text `{}`", shorten(text)),
            Shape::Scalar(value) => format!("`{value}`"),
            Shape::List(_) => "a list".to_owned(),
            Shape::Map(_) => "a mapping".to_owned(),
        }
    }

    /// Returns how many characters of the line to point at.
    pub(crate) fn width(&self) -> usize {
        match &self.shape {
            Shape::Scalar(Value::String(text)) => text.lines().next().unwrap_or("").chars().count(),
            Shape::Scalar(value) => value.to_string().len(),
            Shape::List(_) | Shape::Map(_) => 1,
        }
    }
}

fn shorten(text: &str) -> String {
    if text.chars().count() <= 60 {
        text.to_owned()
    } else {
        text.chars().take(57).chain("...".chars()).collect()
    }
}

const UNFOLDS: &str = "the file expands to far more than a configuration can hold";

fn unfold_fix() -> Option<String> {
    Some("remove the aliases (`*name`) and the deep nesting".to_owned())
}

/// Parses a whole document.
pub(crate) fn parse(source: &Source) -> Result<Node, Problem> {
    match serde_saphyr::from_str_with_options::<Node>(source.text(), options()) {
        Ok(node) => Ok(node),
        Err(error) => Err(explain(source, &error)),
    }
}

/// Parses the value of a flag or an environment variable.
pub(crate) fn parse_value(text: &str) -> Result<Node, String> {
    if text.trim().is_empty() {
        return Ok(Node {
            line: 1,
            column: 1,
            shape: Shape::Scalar(Value::String(text.to_owned())),
        });
    }
    serde_saphyr::from_str_with_options::<Node>(text, options())
        .map_err(|error| plain_message(&error))
}

fn options() -> serde_saphyr::Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: 16,
            max_nodes: 20_000,
            max_events: 60_000,
            max_aliases: 200,
            max_anchors: 200,
            max_documents: 8,
            max_recorded_anchor_events: 20_000,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: 20_000,
            max_replay_stack_depth: 8,
        },
        duplicate_keys: DuplicateKeyPolicy::Error,
        // `language: no` is Norwegian, not false. A key that wants a truth value
        // accepts yes and no itself.
        strict_booleans: true,
        with_snippet: false,
    }
}

fn plain_message(error: &serde_saphyr::Error) -> String {
    // The crate appends its own position; ours is printed with the line.
    let message = error.without_snippet().to_string();
    let message = message.lines().next().unwrap_or_default();
    match message.find(" at line ") {
        Some(at) => message[..at].trim_end_matches([':', ',', ' ']).to_owned(),
        None => message.to_owned(),
    }
}

fn explain(source: &Source, error: &serde_saphyr::Error) -> Problem {
    let (line, column) = error
        .location()
        .map(|at| (at.line().max(1), at.column().max(1)))
        .unwrap_or((1, 1));
    let line_index = usize::try_from(line - 1).unwrap_or(usize::MAX);
    let lines = || source.text().lines().enumerate();
    let tab_indent = |text: &str| {
        text.chars()
            .take_while(|c| c.is_whitespace())
            .any(|c| c == '\t')
    };
    // A parser reports a tab where the text stops making sense, often a line later.
    let tab = lines()
        .skip(line_index.saturating_sub(1))
        .take(2)
        .find(|(_, text)| tab_indent(text));
    if let Some((index, text)) = tab {
        let column = text.chars().take_while(|c| *c != '\t').count() as u64 + 1;
        return source.problem(
            index as u64 + 1,
            column,
            1,
            "a tab is used for indentation, but YAML allows only spaces there".to_owned(),
            Some("replace each tab with two spaces".to_owned()),
        );
    }
    let (what, fix) = match root_cause(error) {
        serde_saphyr::Error::DuplicateMappingKey { key, .. } => (
            match key {
                Some(key) => format!("the key `{}` is given twice", shorten(key)),
                None => "a key is given twice".to_owned(),
            },
            Some("keep one of the two lines".to_owned()),
        ),
        serde_saphyr::Error::MultipleDocuments { .. } => (
            "the file holds several YAML documents".to_owned(),
            Some("keep one of them, and remove the `---` lines".to_owned()),
        ),
        serde_saphyr::Error::Budget { .. }
        | serde_saphyr::Error::AliasReplayLimitExceeded { .. }
        | serde_saphyr::Error::AliasExpansionLimitExceeded { .. }
        | serde_saphyr::Error::AliasReplayStackDepthExceeded { .. }
        | serde_saphyr::Error::RecursiveReferencesRequireWeakTypes { .. } => {
            (UNFOLDS.to_owned(), unfold_fix())
        }
        // The scanner has a nesting limit of its own, without an error variant.
        other if other.to_string().contains("recursion limit") => {
            (UNFOLDS.to_owned(), unfold_fix())
        }
        other => {
            let fix = "`myxtts config new` writes a file to compare with";
            (
                format!("this is not valid YAML: {}", plain_message(other)),
                Some(fix.to_owned()),
            )
        }
    };
    source.problem(line, column, 1, what, fix)
}

/// Returns the error inside the wrappers that only add positions.
fn root_cause(error: &serde_saphyr::Error) -> &serde_saphyr::Error {
    match error.without_snippet() {
        serde_saphyr::Error::AliasError { error, .. } => root_cause(error),
        other => other,
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let at = Spanned::<Shape>::deserialize(deserializer)?;
        Ok(Self {
            line: at.referenced.line(),
            column: at.referenced.column(),
            shape: at.value,
        })
    }
}

impl<'de> Deserialize<'de> for Shape {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ShapeVisitor)
    }
}

struct ShapeVisitor;

impl<'de> Visitor<'de> for ShapeVisitor {
    type Value = Shape;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a YAML value")
    }

    fn visit_unit<E: Error>(self) -> Result<Shape, E> {
        Ok(Shape::Scalar(Value::Null))
    }

    fn visit_none<E: Error>(self) -> Result<Shape, E> {
        self.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Shape, D::Error> {
        Shape::deserialize(deserializer)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Shape, E> {
        Ok(Shape::Scalar(Value::Bool(value)))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Shape, E> {
        Ok(Shape::Scalar(Value::from(value)))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Shape, E> {
        Ok(Shape::Scalar(Value::from(value)))
    }

    fn visit_i128<E: Error>(self, value: i128) -> Result<Shape, E> {
        self.visit_string(value.to_string())
    }

    fn visit_u128<E: Error>(self, value: u128) -> Result<Shape, E> {
        self.visit_string(value.to_string())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Shape, E> {
        match Number::from_f64(value) {
            Some(number) => Ok(Shape::Scalar(Value::Number(number))),
            // `.inf` and `.nan` fit none of our keys; as text they get the
            // ordinary wrong-type message.
            None => self.visit_string(value.to_string()),
        }
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Shape, E> {
        self.visit_string(value.to_owned())
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Shape, E> {
        Ok(Shape::Scalar(Value::String(value)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Shape, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element::<Node>()? {
            list.push(item);
        }
        Ok(Shape::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Shape, A::Error> {
        let mut map = Vec::new();
        while let Some((key, value)) = entries.next_entry::<Spanned<String>, Node>()? {
            let name = Name {
                line: key.referenced.line(),
                column: key.referenced.column(),
                text: key.value,
            };
            map.push((name, value));
        }
        Ok(Shape::Map(map))
    }
}
