//! Units as types; samples are those of `myxtts-audio`.

use serde::{Deserialize, Serialize};

/// Text tokens.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Tokens(pub u32);

/// Audio codes, one per 1024 samples.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Codes(pub u32);
