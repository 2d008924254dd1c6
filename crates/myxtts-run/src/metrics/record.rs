//! One line of metrics, as it is written.

use std::fmt::Write as _;

use serde_json::Value;

use crate::units::Step;

/// The numbers of one step, in the order they were added.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    step: Step,
    /// The JSON text of the fields, `,"name":value` for each.
    fields: String,
}

impl Record {
    /// Makes a record of `step` without any numbers.
    pub fn new(step: Step) -> Self {
        Self {
            step,
            fields: String::new(),
        }
    }

    /// Adds an `f32`. Its text is the shortest that reads back as the same `f32`,
    /// so it does not grow digits it never had.
    #[must_use]
    pub fn f32(self, name: &str, value: f32) -> Self {
        self.number(name, value, value.is_finite())
    }

    /// Adds an `f64`, which reads back bit for bit.
    #[must_use]
    pub fn f64(self, name: &str, value: f64) -> Self {
        self.number(name, value, value.is_finite())
    }

    /// Adds a whole number.
    #[must_use]
    pub fn count(self, name: &str, value: u64) -> Self {
        self.number(name, value, true)
    }

    /// Adds a string field.
    #[must_use]
    pub fn text(self, name: &str, value: &str) -> Self {
        self.field(name, &Value::from(value).to_string())
    }

    /// Adds a list of numbers, one for each of a few things in a fixed order.
    #[must_use]
    pub fn list(self, name: &str, values: &[f64]) -> Self {
        let words = values.iter().map(|value| match value.is_finite() {
            true => format!("{value:?}"),
            false => Value::from(format!("{value:?}")).to_string(),
        });
        let words: Vec<String> = words.collect();
        self.field(name, &format!("[{}]", words.join(",")))
    }

    fn number(self, name: &str, value: impl std::fmt::Debug, finite: bool) -> Self {
        // `Debug` of a float is its shortest exact text, and valid JSON.
        let text = format!("{value:?}");
        if finite {
            self.field(name, &text)
        } else {
            self.text(name, &text)
        }
    }

    fn field(mut self, name: &str, json: &str) -> Self {
        self.fields.push(',');
        self.fields.push_str(&Value::from(name).to_string());
        self.fields.push(':');
        self.fields.push_str(json);
        self
    }

    pub(super) fn to_line(&self, wall_time: f64) -> String {
        let mut line = format!("{{\"step\":{},\"wall_time\":", self.step);
        // Writing to a string does not fail.
        let _ = writeln!(line, "{wall_time:?}{}}}", self.fields);
        line
    }
}
