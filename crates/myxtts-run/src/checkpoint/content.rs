//! What the trainer hands over to be saved.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write};

use serde_json::Value;

use super::manifest::FileEntry;
use super::pointer::Best;
use crate::units::{Bytes, Step};

/// The contents of one checkpoint.
///
/// Its files are made while they are written, from what they borrow for `'a`, so
/// a checkpoint needs no copy of the model. [`Snapshot::collected`] makes a
/// snapshot that owns everything and outlives the step.
#[derive(Debug, Default)]
pub struct Snapshot<'a> {
    /// Steps taken in the whole run.
    pub step: Step,
    /// Epochs of the stage completed.
    pub epoch: u64,
    /// Steps of the present epoch already taken.
    pub schedule_position: u64,
    /// JSON values by name: configuration, plan, tokenizer hash, random state, metrics.
    pub sections: BTreeMap<String, Value>,
    /// The files, in the order in which they are written.
    pub contents: Vec<Content<'a>>,
    /// Why this is the best checkpoint so far; `None` when it is not.
    pub best: Option<Best>,
}

impl Snapshot<'_> {
    /// Returns the size of its files, not counting those that describe others.
    pub fn bytes(&self) -> Bytes {
        let of = |content: &Content<'_>| match &content.body {
            Body::Bytes(bytes) => bytes.len() as u64,
            Body::Writer(bytes, _) => bytes.0,
            Body::Description(_) => 0,
        };
        Bytes(self.contents.iter().map(of).sum())
    }

    /// Makes all files in memory, so that they can be written while what they
    /// were made from changes.
    ///
    /// # Errors
    /// When a file cannot be made; the error names the file.
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
    /// Makes a file of `bytes`. Its name is relative to the checkpoint, with `/`
    /// between folders.
    pub fn bytes(name: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            name: name.into(),
            body: Body::Bytes(bytes.into()),
        }
    }

    /// Makes a file of `size` bytes that `writer` produces while it is being
    /// written, so that it never has to be in memory as a whole.
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

    /// Makes a small file that describes the ones before it: `describe` is given
    /// the sizes and hashes of all files already written.
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
