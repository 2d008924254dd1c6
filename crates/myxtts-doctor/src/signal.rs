//! A measurement that may be missing, with the reason.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A known value, or why there is none. Never a zero that looks like a
/// measurement. In JSON: the value itself, or `{"unavailable": "why"}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Signal<T> {
    /// Why nothing is known.
    Unavailable {
        /// The reason, in English.
        unavailable: String,
    },
    /// The value that was measured.
    Known(T),
}

impl<T> Signal<T> {
    /// Makes a signal that is not known, for this reason.
    pub fn unavailable(why: impl Into<String>) -> Self {
        Self::Unavailable {
            unavailable: why.into(),
        }
    }

    /// Makes a signal of a value, or of the reason why there is none.
    pub fn from_option(value: Option<T>, why: impl Into<String>) -> Self {
        value.map_or_else(|| Self::unavailable(why), Self::Known)
    }

    /// Returns the value, if there is one.
    pub fn known(&self) -> Option<&T> {
        match self {
            Self::Known(value) => Some(value),
            Self::Unavailable { .. } => None,
        }
    }

    /// Returns the value, or the reason why a rule cannot look.
    ///
    /// # Errors
    /// The reason, where nothing is known.
    pub(crate) fn need(&self) -> Result<&T, Silent> {
        match self {
            Self::Known(value) => Ok(value),
            Self::Unavailable { unavailable } => Err(Silent(unavailable.clone())),
        }
    }

    /// Applies `f` to the value, if there is one.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Signal<U> {
        match self {
            Self::Known(value) => Signal::Known(f(value)),
            Self::Unavailable { unavailable } => Signal::Unavailable { unavailable },
        }
    }

    /// Returns this signal, or `other` where only that one is known.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Unavailable { .. }, Self::Known(value)) => Self::Known(value),
            (own, _) => own,
        }
    }
}

impl<T> Default for Signal<T> {
    fn default() -> Self {
        Self::unavailable("it was not measured")
    }
}

impl<T> From<T> for Signal<T> {
    fn from(value: T) -> Self {
        Self::Known(value)
    }
}

impl<T: fmt::Display> fmt::Display for Signal<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Known(value) => value.fmt(f),
            Self::Unavailable { unavailable } => write!(f, "unavailable: {unavailable}"),
        }
    }
}

/// Why a rule could not look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Silent(pub String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_the_value_or_the_reason() {
        let known: Signal<f64> = 2.5.into();
        let missing = Signal::<f64>::unavailable("no driver");
        let text = serde_json::to_string(&[&known, &missing]).unwrap();
        assert_eq!(text, r#"[2.5,{"unavailable":"no driver"}]"#);
        let back: Vec<Signal<f64>> = serde_json::from_str(&text).unwrap();
        assert_eq!(back, [known, missing]);
    }
}
