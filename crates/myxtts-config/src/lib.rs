//! Layered configuration.
//!
//! A component describes its settings as an ordinary struct (`serde` +
//! `schemars`, doc comments as descriptions, `range` for bounds). This crate
//! reads the shape of that struct once ([`Keys`]) and uses it for everything
//! else: checking a YAML file, an environment variable or a flag, suggesting
//! the nearest key, writing a commented example, printing a JSON Schema.
//!
//! Values travel as [`Layer`]s, flat maps from `section.key` to a value that
//! knows its [`Origin`]. Merging two layers is a right-biased union, so
//! "defaults < preset < file < environment < flags" is a fold and the origin
//! of the winner survives by construction.
//!
//! Invariants:
//! - nothing is ignored: a key that is not known is an error, wherever it
//!   comes from;
//! - every error has a place ([`Place`]) and nothing in here panics, whatever
//!   the bytes (there is a fuzz target for it).

mod alias;
mod check;
mod environment;
mod home;
mod keys;
mod layer;
mod origin;
mod problem;
mod settings;
pub mod shell;
mod source;
mod suggest;
mod template;
pub mod units;
mod yaml;

pub use alias::{Alias, Meaning};
pub use home::expand_home;
pub use keys::{Key, Keys, Kind};
pub use layer::{Layer, Setting};
pub use origin::Origin;
pub use problem::{Place, Problem, Problems};
pub use settings::Settings;
pub use source::Source;
