//! A measurement that may be missing, with the reason.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A value that was read, or why it could not be. It is never a zero that looks
/// like a measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reading<T> {
    /// The value that was read.
    Value(T),
    /// Why the value could not be read.
    Unavailable(String),
}

impl<T> Reading<T> {
    /// Returns the value, if there is one.
    pub fn value(&self) -> Option<&T> {
        match self {
            Self::Value(value) => Some(value),
            Self::Unavailable(_) => None,
        }
    }

    /// Returns this reading, or `other` where only that one has a value.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Unavailable(_), Self::Value(value)) => Self::Value(value),
            (own, _) => own,
        }
    }

    /// Applies `f` to the value, if there is one.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Reading<U> {
        match self {
            Self::Value(value) => Reading::Value(f(value)),
            Self::Unavailable(why) => Reading::Unavailable(why),
        }
    }
}

impl<T, E: fmt::Display> From<Result<T, E>> for Reading<T> {
    fn from(result: Result<T, E>) -> Self {
        match result {
            Ok(value) => Self::Value(value),
            Err(why) => Self::Unavailable(why.to_string()),
        }
    }
}

impl<T: fmt::Display> fmt::Display for Reading<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(value) => value.fmt(f),
            Self::Unavailable(why) => write!(f, "unavailable ({why})"),
        }
    }
}
