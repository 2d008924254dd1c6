//! A measurement that may be missing, with the reason, as `devices.jsonl` has
//! it: the value itself, or `{"unavailable": "why"}`.

use serde::{Deserialize, Serialize};

/// A value that was read, or why it could not be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Reading<T> {
    /// Why nothing was read. Listed first, because a value may be a map as well.
    Unavailable {
        /// The reason, in words.
        unavailable: String,
    },
    /// The value that was read.
    Value(T),
}

impl<T> Reading<T> {
    /// Makes a reading that is missing for the reason `why`.
    pub fn unavailable(why: impl Into<String>) -> Self {
        Self::Unavailable {
            unavailable: why.into(),
        }
    }

    /// Returns the value, if there is one.
    pub(crate) fn value(&self) -> Option<&T> {
        match self {
            Self::Value(value) => Some(value),
            Self::Unavailable { .. } => None,
        }
    }

    /// Returns the reason, if there is no value.
    pub(crate) fn reason(&self) -> Option<&str> {
        match self {
            Self::Value(_) => None,
            Self::Unavailable { unavailable } => Some(unavailable),
        }
    }

    /// Makes a reading of a value that is there, or of the reason why it is not.
    pub(crate) fn or_reason(value: Option<T>, why: &str) -> Self {
        value.map_or_else(|| Self::unavailable(why), Self::Value)
    }
}

/// Stands for a field that an older file does not have.
impl<T> Default for Reading<T> {
    fn default() -> Self {
        Self::unavailable("not recorded")
    }
}
