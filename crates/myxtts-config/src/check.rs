//! Checking a written value against the kind of its key.

use serde_json::Value;

use crate::keys::{Key, Kind};
use crate::suggest::nearest;
use crate::yaml::{self, Node, Shape};

/// Why a value was refused, and what to write instead.
pub(crate) struct Refusal {
    pub(crate) what: String,
    pub(crate) fix: Option<String>,
}

/// Checks the value for `key` that is written as `node`.
pub(crate) fn check(key: &Key, node: &Node) -> Result<Value, Refusal> {
    let unset = match &node.shape {
        Shape::Scalar(Value::Null) => true,
        Shape::Scalar(Value::String(text)) => Some(text) == key.unset.as_ref(),
        _ => false,
    };
    if unset && key.unset.is_some() {
        return Ok(Value::Null);
    }
    match convert(&key.kind, node) {
        Ok(value) => Ok(value),
        Err(Misfit::Type) => Err(Refusal {
            what: format!(
                "`{}` takes {}, but this is {}",
                key.path,
                expected(key),
                node.describe()
            ),
            fix: word_fix(&key.kind, node),
        }),
        Err(Misfit::Range) => Err(Refusal {
            what: format!(
                "`{}` takes {}, but this is {}",
                key.path,
                expected(key),
                node.describe()
            ),
            fix: Some(match &key.only {
                Some(why) => format!("this version supports no other value: {why}"),
                None => format!("the default is {}", key.show(&key.default)),
            }),
        }),
    }
}

/// Checks the value for `key` given as plain text, by a flag or an environment variable.
pub(crate) fn check_text(key: &Key, text: &str) -> Result<Value, Refusal> {
    if key.kind == Kind::Text && Some(text) != key.unset.as_deref() {
        // The text is taken as it is: a folder may be called `2024` or `true`.
        return Ok(Value::from(text));
    }
    match yaml::parse_value(text) {
        Ok(node) => check(key, &node),
        Err(why) => Err(Refusal {
            what: format!(
                "`{}` takes {}, but `{text}` cannot be read: {why}",
                key.path,
                expected(key)
            ),
            fix: None,
        }),
    }
}

/// Checks `true` or `false` for an alias that has no key of its own.
pub(crate) fn check_truth(name: &str, node: &Node) -> Result<Value, Refusal> {
    convert(&Kind::Truth, node).map_err(|_| Refusal {
        what: format!(
            "`{name}` takes true or false, but this is {}",
            node.describe()
        ),
        fix: None,
    })
}

enum Misfit {
    Type,
    Range,
}

fn convert(kind: &Kind, node: &Node) -> Result<Value, Misfit> {
    match (kind, &node.shape) {
        (Kind::Either(kinds), _) => {
            let mut misfit = Misfit::Type;
            for kind in kinds {
                match convert(kind, node) {
                    Ok(value) => return Ok(value),
                    Err(Misfit::Range) => misfit = Misfit::Range,
                    Err(Misfit::Type) => {}
                }
            }
            Err(misfit)
        }
        (Kind::List(item), Shape::List(nodes)) => {
            let items: Result<Vec<Value>, Misfit> =
                nodes.iter().map(|node| convert(item, node)).collect();
            Ok(Value::Array(items?))
        }
        (Kind::List(item), Shape::Scalar(Value::String(text))) => {
            let items: Result<Vec<Value>, Misfit> = text
                .split(',')
                .map(|part| {
                    let node = yaml::parse_value(part.trim()).map_err(|_| Misfit::Type)?;
                    convert(item, &node)
                })
                .collect();
            Ok(Value::Array(items?))
        }
        (Kind::List(item), Shape::Scalar(_)) => Ok(Value::Array(vec![convert(item, node)?])),
        (_, Shape::Scalar(value)) => scalar(kind, value),
        _ => Err(Misfit::Type),
    }
}

fn scalar(kind: &Kind, value: &Value) -> Result<Value, Misfit> {
    match (kind, value) {
        (Kind::Truth, Value::Bool(_)) => Ok(value.clone()),
        // YAML 1.1 readers take these words for truth values, and people's files
        // were written for such a reader.
        (Kind::Truth, Value::String(word)) => match word.to_ascii_lowercase().as_str() {
            "yes" | "on" | "true" => Ok(Value::Bool(true)),
            "no" | "off" | "false" => Ok(Value::Bool(false)),
            _ => Err(Misfit::Type),
        },
        (Kind::Whole { min, max }, Value::Number(number)) => {
            let whole = number.as_i64().or_else(|| whole_of(number.as_f64()?));
            match whole {
                Some(whole) if (*min..=*max).contains(&whole) => Ok(Value::from(whole)),
                Some(_) => Err(Misfit::Range),
                None if number.is_u64() => Err(Misfit::Range),
                None => Err(Misfit::Type),
            }
        }
        (Kind::Number { min, max }, Value::Number(number)) => match number.as_f64() {
            Some(number) if (*min..=*max).contains(&number) => Ok(Value::from(number)),
            _ => Err(Misfit::Range),
        },
        (Kind::Text, Value::String(_)) => Ok(value.clone()),
        (Kind::Word(words), Value::String(word)) if words.contains(word) => Ok(value.clone()),
        _ => Err(Misfit::Type),
    }
}

/// Returns the whole number that a float is, since people write `1e3` for one.
#[expect(
    clippy::cast_possible_truncation,
    reason = "bounded by the line before"
)]
fn whole_of(number: f64) -> Option<i64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    (number.fract() == 0.0 && number.abs() <= EXACT).then_some(number as i64)
}

fn expected(key: &Key) -> String {
    let kind = key.kind.describe();
    match &key.unset {
        Some(word) => format!("{kind}, or `{word}`"),
        None => kind,
    }
}

impl Kind {
    /// Describes what the key accepts.
    pub fn describe(&self) -> String {
        match self {
            Self::Truth => "true or false".to_owned(),
            Self::Whole { min, max } if min == max => format!("`{min}`"),
            Self::Whole { min, max } => {
                bounds("a whole number", whole_bound(*min), whole_bound(*max))
            }
            Self::Number { min, max } => {
                let bound = |b: f64| (b != f64::MIN && b != f64::MAX).then(|| b.to_string());
                bounds("a number", bound(*min), bound(*max))
            }
            Self::Text => "text".to_owned(),
            Self::Word(words) => match words.as_slice() {
                [one] => format!("`{one}`"),
                several => format!("one of `{}`", several.join("`, `")),
            },
            Self::List(item) => format!("a list ({} each)", item.describe()),
            Self::Either(kinds) => kinds
                .iter()
                .map(Self::describe)
                .collect::<Vec<_>>()
                .join(", or "),
        }
    }
}

fn whole_bound(bound: i64) -> Option<String> {
    (bound != i64::MIN && bound != i64::MAX).then(|| bound.to_string())
}

fn bounds(noun: &str, min: Option<String>, max: Option<String>) -> String {
    match (min, max) {
        (Some(min), Some(max)) => format!("{noun} from {min} to {max}"),
        (Some(min), None) => format!("{noun} of at least {min}"),
        (None, Some(max)) => format!("{noun} of at most {max}"),
        (None, None) => noun.to_owned(),
    }
}

fn word_fix(kind: &Kind, node: &Node) -> Option<String> {
    let Shape::Scalar(Value::String(text)) = &node.shape else {
        return None;
    };
    match kind {
        Kind::Word(words) => nearest(text, words.iter().map(String::as_str))
            .map(|word| format!("did you mean `{word}`?")),
        Kind::Whole { .. } | Kind::Number { .. } if text.parse::<f64>().is_ok() => {
            Some("write the number without quotes".to_owned())
        }
        _ => None,
    }
}
