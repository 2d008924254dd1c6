//! What the trainer hands over.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write};

use serde_json::Value;

use super::manifest::FileEntry;
use super::pointer::Best;
use crate::units::{Bytes, Step};

/// Everything of one checkpoint.
///
/// Its files are made while they are written, from what they borrow for `'a`,
/// so a checkpoint needs no copy of the model. [`Snapshot::collected`] makes
/// one that owns everything and outlives the step.
#[derive(Debug, Default)]
pub struct Snapshot<'a> {
    /// Steps taken.
    pub step: Step,
    /// Epochs begun.
    pub epoch: u64,
    /// Batches of the epoch's schedule already consumed.
    pub schedule_position: u64,
    /// Configuration, plan, tokenizer hash, random state, metrics: JSON by name.
    pub sections: BTreeMap<String, Value>,
    /// The files, in the order in which they are written.
    pub contents: Vec<Content<'a>>,
    /// Set when this is the best checkpoint so far.
    pub best: Option<Best>,
}

impl Snapshot<'_> {
    /// What its files will take, without those that describe others.
    pub fn bytes(&self) -> Bytes {
        let of = |content: &Content<'_>| match &content.body {
            Body::Bytes(bytes) => bytes.len() as u64,
            Body::Writer(bytes, _) => bytes.0,
            Body::Description(_) => 0,
        };
        Bytes(self.contents.iter().map(of).sum())
    }

    /// The same with all files in memory, so that they can be written while
    /// what they were made from changes.
    ///
    /// # Errors
    /// When a file cannot be made; with its name.
    pub fn collected(self) -> io::Result<Snapshot<'static>> {
        let collected = |content: Content<'_>| {
            let Content { name, body } = content;
            let body = match body {
                Body::Bytes(bytes) => Body::Bytes(bytes),
                Body::Writer(size, writer) => {
                    let mut bytes = Vec::with_capacity(usize::try_from(size.0).unwrap_or(0));
                    writer(&mut bytes).map_err(|why| io::Error::other(format!("{name}: {why}")))?;
                    Body::Bytes(bytes)
                }
                Body::Description(describe) => Body::Description(describe),
            };
            Ok(Content { name, body })
        };
        let contents: io::Result<_> = self.contents.into_iter().map(collected).collect();
        Ok(Snapshot {
            step: self.step,
            epoch: self.epoch,
            schedule_position: self.schedule_position,
            sections: self.sections,
            contents: contents?,
            best: self.best,
        })
    }
}

/// One file of a checkpoint.
pub struct Content<'a> {
    pub(super) name: String,
    pub(super) body: Body<'a>,
}

pub(super) enum Body<'a> {
    Bytes(Vec<u8>),
    Writer(Bytes, Writer<'a>),
    Description(Describe),
}

type Writer<'a> = Box<dyn FnOnce(&mut dyn Write) -> io::Result<()> + Send + 'a>;
type Describe = Box<dyn FnOnce(&[FileEntry]) -> io::Result<Vec<u8>> + Send>;

impl<'a> Content<'a> {
    /// A file of `bytes`, named relative to the checkpoint with `/` between
    /// folders.
    pub fn bytes(name: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            name: name.into(),
            body: Body::Bytes(bytes.into()),
        }
    }

    /// A file of a size that `writer` produces while it is being written, so
    /// that it need not lie in memory as a whole.
    pub fn writer(
        name: impl Into<String>,
        size: Bytes,
        writer: impl FnOnce(&mut dyn Write) -> io::Result<()> + Send + 'a,
    ) -> Self {
        Self {
            name: name.into(),
            body: Body::Writer(size, Box::new(writer)),
        }
    }

    /// A small file that says what was written before it: its maker is told
    /// the sizes and hashes of all files that came before.
    pub fn description(
        name: impl Into<String>,
        describe: impl FnOnce(&[FileEntry]) -> io::Result<Vec<u8>> + Send + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            body: Body::Description(Box::new(describe)),
        }
    }
}

impl fmt::Debug for Content<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Content").field(&self.name).finish()
    }
}
