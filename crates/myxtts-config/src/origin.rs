//! Where a value came from.

use std::fmt;

use crate::shell::quoted;

/// The place that decided a value, as `config show` prints it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The value built into the program.
    Default,
    /// A named set of values: a GPU profile, an optimization level, a model size.
    Preset(String),
    /// Weights that a training starts from, by the folder that holds them.
    Weights(String),
    /// A line of a configuration file.
    File {
        /// The path of the file as the user gave it.
        name: String,
        /// The line of the key, from 1.
        line: u64,
        /// The column of the key, from 1.
        column: u64,
    },
    /// An environment variable, by its name.
    Env(String),
    /// A command-line flag, with its dashes.
    Flag(String),
}

impl Origin {
    /// Returns whether a person asked for this value, as opposed to a default, a
    /// preset or weights.
    ///
    /// The plan adjusts start values that nobody asked for; what was asked for is
    /// done or refused.
    pub fn is_chosen(&self) -> bool {
        !matches!(self, Self::Default | Self::Preset(_) | Self::Weights(_))
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::Preset(name) => write!(f, "presets {name}"),
            Self::Weights(folder) => write!(f, "weights of --init {}", quoted(folder)),
            Self::File { name, line, column } => write!(f, "{name}:{line}:{column}"),
            Self::Env(name) => write!(f, "env {name}"),
            Self::Flag(name) => write!(f, "flag {name}"),
        }
    }
}
