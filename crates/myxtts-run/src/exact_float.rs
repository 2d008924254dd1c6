//! Floating-point numbers through JSON, bit for bit.
//!
//! `serde_json` writes the shortest text that means the number, but without its
//! `float_roundtrip` feature (which would change the engine's build) reads it
//! back up to one unit off, and it has no NaN. State that must resume exactly
//! is therefore kept as that text: `#[serde(with = "myxtts_run::exact")]`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// Writes the shortest decimal text that reads back as `value`.
///
/// # Errors
/// Those of the `serializer`.
pub(crate) fn serialize<S: Serializer>(
    value: &impl fmt::Debug,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{value:?}"))
}

/// Reads what [`serialize`] wrote.
///
/// # Errors
/// When the text is not a number.
pub(crate) fn deserialize<'de, D: Deserializer<'de>, T: FromStr>(
    deserializer: D,
) -> Result<T, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.parse()
        .map_err(|_| D::Error::custom(format!("`{text}` is not a number")))
}

/// An `f64` that keeps its bits through JSON.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Exact(#[serde(with = "crate::exact_float")] pub(crate) f64);
