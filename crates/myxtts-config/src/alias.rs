//! Older names of keys.
//!
//! People have configuration files written for this program's ancestor. A key
//! that named a mechanism this program does not have still works as what it
//! meant, and `config show` names the alias that was used.

use serde_json::Value;

/// An older name of a key.
#[derive(Clone, Copy, Debug)]
pub struct Alias {
    /// The older name, as `section.key`.
    pub name: &'static str,
    /// What the alias means today.
    pub meaning: Meaning,
}

/// How the value of an alias becomes the value of its key.
#[derive(Clone, Copy, Debug)]
pub enum Meaning {
    /// The same value under another name.
    Same(&'static str),
    /// The opposite truth value.
    Not(&'static str),
    /// A truth value that chooses between two words.
    Words {
        /// The key that takes the word.
        key: &'static str,
        /// The word for `true`.
        yes: &'static str,
        /// The word for `false`.
        no: &'static str,
    },
    /// Something that can no longer be switched off.
    AlwaysOn {
        /// What it was, and why `false` is refused.
        why: &'static str,
    },
}

impl Meaning {
    /// Returns the key that this alias sets, if it sets one.
    pub fn key(&self) -> Option<&'static str> {
        match *self {
            Self::Same(key) | Self::Not(key) | Self::Words { key, .. } => Some(key),
            Self::AlwaysOn { .. } => None,
        }
    }

    /// Returns whether the alias itself takes true or false; otherwise it takes
    /// what its key takes.
    pub(crate) fn takes_truth(&self) -> bool {
        !matches!(self, Self::Same(_))
    }

    /// Returns the value for the key, from a checked value of the alias.
    pub(crate) fn translate(&self, value: Value) -> Result<Value, &'static str> {
        let yes = value == Value::Bool(true);
        match *self {
            Self::Same(_) => Ok(value),
            Self::Not(_) => Ok(Value::Bool(!yes)),
            Self::Words { yes: word, .. } if yes => Ok(Value::from(word)),
            Self::Words { no: word, .. } => Ok(Value::from(word)),
            Self::AlwaysOn { .. } if yes => Ok(value),
            Self::AlwaysOn { why } => Err(why),
        }
    }
}
