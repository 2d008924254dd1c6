//! What the trainer hands over.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write};

use serde_json::Value;

use super::pointer::Best;
use crate::units::Step;

/// Everything of one checkpoint, owned, so that training can go on.
#[derive(Debug, Default)]
pub struct Snapshot {
    /// Steps taken.
    pub step: Step,
    /// Epochs begun.
    pub epoch: u64,
    /// Batches of the epoch's schedule already consumed.
    pub schedule_position: u64,
    /// Configuration, plan, tokenizer hash, random state, metrics: JSON by name.
    pub sections: BTreeMap<String, Value>,
    /// The files.
    pub contents: Vec<Content>,
    /// Set when this is the best checkpoint so far.
    pub best: Option<Best>,
}

/// One file of a checkpoint.
pub struct Content {
    pub(super) name: String,
    pub(super) body: Body,
}

pub(super) enum Body {
    Bytes(Vec<u8>),
    Writer(Writer),
}

type Writer = Box<dyn FnOnce(&mut dyn Write) -> io::Result<()> + Send>;

impl Content {
    /// A file of `bytes`, named relative to the checkpoint with `/` between
    /// folders.
    pub fn bytes(name: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            name: name.into(),
            body: Body::Bytes(bytes.into()),
        }
    }

    /// A file that `writer` produces while it is being written, so that it
    /// need not lie in memory as a whole.
    pub fn writer(
        name: impl Into<String>,
        writer: impl FnOnce(&mut dyn Write) -> io::Result<()> + Send + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            body: Body::Writer(Box::new(writer)),
        }
    }
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Content").field(&self.name).finish()
    }
}
