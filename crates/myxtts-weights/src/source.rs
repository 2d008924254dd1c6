//! Where bytes live: a mapped file, or memory.

use std::fmt;
use std::fs::{self, File};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use memmap2::Mmap;

use crate::error::Fault;

/// Read-only bytes that clones share.
#[derive(Clone)]
pub(crate) struct Source(Arc<Kind>);

enum Kind {
    Mapped(Mmap),
    Owned(Vec<u8>),
}

impl Source {
    pub(crate) fn owned(bytes: Vec<u8>) -> Self {
        Self(Arc::new(Kind::Owned(bytes)))
    }

    /// Maps a file. Its kind is checked before it is opened, because opening
    /// a pipe waits for a writer that may never come.
    pub(crate) fn open(path: &Path) -> Result<Self, Fault> {
        let kind = fs::metadata(path)?;
        if !kind.is_file() {
            return Err(Fault::NotAFile);
        }
        let file = File::open(path)?;
        // An empty file cannot be mapped on every system.
        if file.metadata()?.len() == 0 {
            return Err(Fault::Empty);
        }
        Ok(Self(Arc::new(Kind::Mapped(map(&file)?))))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        match &*self.0 {
            Kind::Mapped(map) => map,
            Kind::Owned(bytes) => bytes,
        }
    }

    pub(crate) fn get(&self, range: Range<usize>) -> Option<&[u8]> {
        self.bytes().get(range)
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Source({} bytes)", self.bytes().len())
    }
}

#[expect(
    unsafe_code,
    reason = "a file mapping has no safe form; the argument is below"
)]
fn map(file: &File) -> Result<Mmap, Fault> {
    // SAFETY: the mapping is read-only and handed out as `&[u8]` of plain
    // numbers. Another process that changes the file changes numbers, and no
    // length read from the mapping is trusted across two reads without being
    // checked by `get`; one that shortens it ends this process with a bus
    // error, which is loud. Checkpoints are gigabytes, written once (ours by
    // rename) and then read, so the saved copy is worth that while a program
    // starts; what a training keeps for hours is `Tensor::in_memory`.
    Ok(unsafe { Mmap::map(file) }?)
}
