//! What a rule finds.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::code::Code;
use crate::lang::Lang;
use crate::units::{Megabytes, Seconds, Share};

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth trying; nothing is wrong.
    Tip,
    /// Training loses time to it.
    Warning,
    /// It costs much time, or will end the training.
    Problem,
    /// Training cannot start or continue.
    Blocking,
}

/// The time that the fix gives back, per 1,000 steps' worth of training data.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gain {
    /// An estimate, by a model of the pipeline.
    Estimate(Seconds),
    /// A bound: not more than this.
    AtMost(Seconds),
    /// Only a measurement can tell.
    Unknown,
}

impl Gain {
    /// Makes an estimate from seconds per step; a negative saving counts as none.
    pub(crate) fn per_step(saved: Seconds) -> Self {
        Self::Estimate(Seconds((saved.0 * 1000.0).max(0.0)))
    }

    /// Makes a bound from seconds per step; a negative saving counts as none.
    pub(crate) fn at_most_per_step(saved: Seconds) -> Self {
        Self::AtMost(Seconds((saved.0 * 1000.0).max(0.0)))
    }

    /// Returns the seconds, if there is a figure.
    pub fn seconds(self) -> Option<Seconds> {
        match self {
            Self::Estimate(seconds) | Self::AtMost(seconds) => Some(seconds),
            Self::Unknown => None,
        }
    }
}

/// A new value for one key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Edit {
    /// The key, as `section.key`.
    pub key: String,
    /// The value in force; `None` where it is not known.
    pub old: Option<String>,
    /// The value to try.
    pub new: String,
}

impl Edit {
    /// Makes the edit of `key` from `old` to `new`.
    pub fn new(key: &str, old: Option<String>, new: impl fmt::Display) -> Self {
        Self {
            key: key.to_owned(),
            old,
            new: new.to_string(),
        }
    }
}

/// A number or a name that proves a finding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Fact {
    /// The name, in `snake_case`, by which texts refer to it.
    pub(crate) name: String,
    /// The value, with its unit.
    #[serde(flatten)]
    pub(crate) value: Value,
}

impl Fact {
    pub(crate) fn new(name: &str, value: Value) -> Self {
        Self {
            name: name.to_owned(),
            value,
        }
    }

    pub(crate) fn share(name: &str, share: Share) -> Self {
        Self::new(name, Value::Share(share.0))
    }

    pub(crate) fn seconds(name: &str, seconds: Seconds) -> Self {
        Self::new(name, Value::Seconds(seconds.0))
    }

    pub(crate) fn count(name: &str, count: impl Into<u64>) -> Self {
        Self::new(name, Value::Count(count.into()))
    }

    pub(crate) fn number(name: &str, number: f64) -> Self {
        Self::new(name, Value::Number(number))
    }

    pub(crate) fn megabytes(name: &str, mb: Megabytes) -> Self {
        Self::new(name, Value::Megabytes(mb.0))
    }

    pub(crate) fn text(name: &str, text: impl Into<String>) -> Self {
        Self::new(name, Value::Text(text.into()))
    }
}

/// A value with its unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "unit", content = "value", rename_all = "snake_case")]
pub enum Value {
    /// A part of a whole, from 0 to 1.
    Share(f64),
    /// A time in seconds.
    Seconds(f64),
    /// Something that is counted.
    Count(u64),
    /// A number without a unit.
    Number(f64),
    /// An amount of memory in megabytes.
    Megabytes(u64),
    /// A rate in megabytes per second.
    MegabytesPerSecond(f64),
    /// Words that are not translated: a name, a driver's reason.
    Text(String),
}

/// What a rule found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// The code of the rule.
    pub code: Code,
    /// Which of the rule's forms, where it has several.
    #[serde(default)]
    pub form: String,
    /// How bad it is.
    pub severity: Severity,
    /// The facts that prove it.
    pub(crate) facts: Vec<Fact>,
    /// What the fix gives back.
    pub gain: Gain,
    /// The exact changes; empty where the fix is not a setting.
    pub edits: Vec<Edit>,
    /// The cause in one English line; [`Finding::cause_in`] has other languages.
    pub(crate) cause: String,
    /// What to do, in English; [`Finding::fix_in`] has other languages.
    pub fix: String,
}

impl Finding {
    /// Makes a finding of the form `form`, with its English words.
    pub(crate) fn new(code: Code, severity: Severity, form: &str, facts: Vec<Fact>) -> Self {
        let mut finding = Self {
            code,
            form: form.to_owned(),
            severity,
            facts,
            gain: Gain::Unknown,
            edits: Vec::new(),
            cause: String::new(),
            fix: String::new(),
        };
        finding.cause = finding.cause_in(Lang::En);
        finding.fix = finding.fix_in(Lang::En);
        finding
    }

    pub(crate) fn gaining(self, gain: Gain) -> Self {
        Self { gain, ..self }
    }

    pub(crate) fn editing(self, edits: impl IntoIterator<Item = Edit>) -> Self {
        Self {
            edits: edits.into_iter().collect(),
            ..self
        }
    }
}

/// A rule that could not look.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SilentRule {
    /// The code of the rule.
    pub code: Code,
    /// The reason, in English.
    pub reason: String,
}
