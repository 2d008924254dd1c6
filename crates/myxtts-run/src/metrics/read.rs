//! Reading metrics back, every bit of them.

use std::path::Path;

use serde_json::{Map, Value};

use super::MetricsError;
use crate::FileError;
use crate::units::Step;

/// One line of metrics, as it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    step: Step,
    /// The fields in the order of the line: a name, and the JSON text of its value.
    fields: Vec<(String, String)>,
}

impl Line {
    /// Returns the step that the line is about.
    pub fn step(&self) -> Step {
        self.step
    }

    /// Returns the number `name` exactly as it was written, or `None` when there
    /// is no such field or it is not a number.
    pub fn f64(&self, name: &str) -> Option<f64> {
        self.parse(name)
    }

    /// Returns the number `name` as an `f32`, or `None` as [`Line::f64`] does.
    #[cfg(test)]
    pub(super) fn f32(&self, name: &str) -> Option<f32> {
        // Not by way of `f64`: rounding twice can change the last bit.
        self.parse(name)
    }

    /// Returns the text `name` as it was written.
    pub fn text(&self, name: &str) -> Option<String> {
        self.parse(name)
    }

    /// Returns the list of numbers `name`, in order.
    pub fn list(&self, name: &str) -> Option<Vec<f64>> {
        let (_, text) = self.fields.iter().find(|(known, _)| known == name)?;
        let inside = text.strip_prefix('[')?.strip_suffix(']')?;
        let values = inside.split(',').filter(|value| !value.trim().is_empty());
        let values = values.map(|value| value.trim().trim_matches('"').parse().ok());
        values.collect()
    }

    /// Returns the names of the fields.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(|(name, _)| name.as_str())
    }

    fn parse<T: std::str::FromStr>(&self, name: &str) -> Option<T> {
        let (_, text) = self.fields.iter().find(|(known, _)| known == name)?;
        text.trim_matches('"').parse().ok()
    }
}

/// Reads a metrics file. A last line without its newline is still being written,
/// and is left out.
///
/// # Errors
/// When the file cannot be read or a line is not a record.
pub fn read(path: &Path) -> Result<Vec<Line>, MetricsError> {
    let text = std::fs::read(path).map_err(FileError::when("read", path))?;
    let whole = text
        .split_inclusive(|byte| *byte == b'\n')
        .filter(|line| line.ends_with(b"\n"));
    whole
        .enumerate()
        .map(|(index, line)| {
            parse(line).map_err(|reason| MetricsError::Line {
                path: path.into(),
                line: index + 1,
                reason,
            })
        })
        .collect()
}

/// Parses one line. `serde_json` checks it and reads the strings; numbers are
/// taken from the text, because its own reading of them may be one unit off.
pub(super) fn parse(line: &[u8]) -> Result<Line, String> {
    let text = std::str::from_utf8(line)
        .map_err(|error| error.to_string())?
        .trim();
    let object: Map<String, Value> =
        serde_json::from_str(text).map_err(|error| error.to_string())?;
    let step = object.get("step").and_then(Value::as_u64);
    let step = Step(step.ok_or("it has no `step` that is a whole number")?);
    let is_flat = |value: &Value| !value.is_array() && !value.is_object();
    let is_known = |value: &Value| match value {
        Value::Array(values) => values.iter().all(is_flat),
        value => is_flat(value),
    };
    if !object.values().all(is_known) {
        return Err("a value is not a number, a word or a list of them".into());
    }
    let fields = split(text.trim_start_matches('{').trim_end_matches('}'), ',')
        .into_iter()
        .filter_map(|field| match split(field, ':').as_slice() {
            [name, value] => Some((serde_json::from_str(name).ok()?, value.trim().to_string())),
            _ => None,
        })
        .collect();
    Ok(Line { step, fields })
}

/// Splits JSON at `mark` outside strings and lists.
fn split(text: &str, mark: char) -> Vec<&str> {
    let (mut quoted, mut escaped, mut listed) = (false, false, false);
    text.split(|c: char| {
        let was_escaped = std::mem::take(&mut escaped);
        match c {
            '\\' if quoted && !was_escaped => escaped = true,
            '"' if !was_escaped => quoted = !quoted,
            '[' if !quoted => listed = true,
            ']' if !quoted => listed = false,
            _ => {}
        }
        c == mark && !quoted && !listed
    })
    .collect()
}
