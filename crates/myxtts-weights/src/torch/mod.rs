//! Torch's files: a ZIP of one pickle and one entry per storage.
//!
//! Opening a file reads the pickle and places every tensor in its storage;
//! numbers are touched when a tensor is read, so that the gigabytes of
//! optimizer state in a trainer's checkpoint cost nothing.

mod flatten;
mod pickle;
mod rebuild;
mod write;
mod zip;

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

pub use flatten::Scalar;
pub use write::{Item, write_torch};

use crate::error::{Fault, WeightsError};
use crate::map::TensorMap;
use crate::source::Source;
use crate::tensor::Tensor;
use flatten::Flat;
use rebuild::Placed;
use zip::Archive;

/// The largest pickle, in bytes; that of a checkpoint has one megabyte.
const MAX_PICKLE: usize = 64 << 20;
/// The bytes that copies of strided tensors may have beyond four times the file.
const COPY_ALLOWANCE: usize = 16 << 20;

/// A torch file whose pickle has been read.
#[derive(Debug)]
pub struct TorchFile {
    path: PathBuf,
    source: Source,
    archive: Archive,
    tensors: BTreeMap<String, Placed>,
    scalars: BTreeMap<String, Scalar>,
    objects: BTreeMap<String, String>,
    /// Entries whose checksum was found right.
    verified: Mutex<HashSet<String>>,
}

/// Reads every tensor of a torch file. Levels of dictionaries become dotted
/// names; a file that is one tensor gives it the empty name.
pub fn read_torch(path: &Path) -> Result<TensorMap, WeightsError> {
    let file = TorchFile::open(path)?;
    let names = file.names();
    names
        .map(|name| Ok((name.to_owned(), file.read(name)?)))
        .collect()
}

impl TorchFile {
    /// Opens a file and reads its pickle.
    pub fn open(path: &Path) -> Result<Self, WeightsError> {
        let source = Source::open(path).map_err(|fault| WeightsError::read(path, fault))?;
        Self::new(path, source)
    }

    /// Reads `bytes` as the file at `path`.
    pub fn from_bytes(path: &Path, bytes: Vec<u8>) -> Result<Self, WeightsError> {
        Self::new(path, Source::owned(bytes))
    }

    fn new(path: &Path, source: Source) -> Result<Self, WeightsError> {
        let wrong = |fault| WeightsError::read(path, fault);
        let named = |(name, fault): (String, Fault)| {
            let error = wrong(fault);
            if name.is_empty() {
                error
            } else {
                error.at(&name)
            }
        };
        let bytes = source.bytes();
        recognise(bytes).map_err(wrong)?;
        let archive = Archive::read(bytes).map_err(wrong)?;
        let (root, flat) = unpickle(bytes, &archive).map_err(named)?;
        let place = |(name, spec)| match Placed::new(&spec, &archive, &root) {
            Ok(placed) => Ok((name, placed)),
            Err(fault) => Err((name, fault)),
        };
        let tensors: Result<BTreeMap<_, _>, _> = flat.tensors.into_iter().map(place).collect();
        let tensors = tensors.map_err(named)?;
        let allowed = bytes.len().saturating_mul(4).saturating_add(COPY_ALLOWANCE);
        let mut copied = 0_usize;
        for (name, placed) in &tensors {
            copied = copied.saturating_add(placed.copied());
            if copied > allowed {
                return Err(named((name.clone(), Fault::Expanded(placed.shape.clone()))));
            }
        }
        Ok(Self {
            path: path.to_owned(),
            archive,
            tensors,
            scalars: flat.scalars,
            objects: flat.objects,
            source,
            verified: Mutex::default(),
        })
    }

    /// Yields the names of the tensors in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tensors.keys().map(String::as_str)
    }

    /// Returns plain values by name, such as the step of a trainer's checkpoint.
    pub fn scalars(&self) -> &BTreeMap<String, Scalar> {
        &self.scalars
    }

    /// Returns the classes, by name, of Python objects that were not built.
    pub fn objects(&self) -> &BTreeMap<String, String> {
        &self.objects
    }

    /// Reads a tensor and checks its bytes against the checksum.
    pub fn read(&self, name: &str) -> Result<Tensor, WeightsError> {
        let read = || {
            let placed = self
                .tensors
                .get(name)
                .ok_or(Fault::Description("there is no tensor of this name"))?;
            self.verify(&placed.entry)?;
            placed.read(&self.source)
        };
        read().map_err(|fault| WeightsError::read(&self.path, fault).at(name))
    }

    fn verify(&self, entry: &str) -> Result<(), Fault> {
        // A thread that panicked while it held the lock cannot have left the set broken.
        let verified = || self.verified.lock().unwrap_or_else(PoisonError::into_inner);
        if verified().contains(entry) {
            return Ok(());
        }
        check(self.source.bytes(), &self.archive, entry)?;
        verified().insert(entry.to_owned());
        Ok(())
    }
}

/// Returns the bytes of an entry, if they are those that were written.
fn check<'a>(bytes: &'a [u8], archive: &Archive, name: &str) -> Result<&'a [u8], Fault> {
    let entry = archive.entry(name)?;
    let content = bytes.get(entry.range.clone()).unwrap_or_default();
    // Torch writes 0 when it was told not to compute checksums.
    if entry.crc != 0 && entry.crc != crc32fast::hash(content) {
        return Err(Fault::Checksum(name.to_owned()));
    }
    Ok(content)
}

/// Runs the pickle; returns the folder of the entries and what it built.
fn unpickle(bytes: &[u8], archive: &Archive) -> Result<(String, Flat), (String, Fault)> {
    let nameless = |fault| (String::new(), fault);
    let root = archive.root().map_err(nameless)?.to_owned();
    let order = format!("{root}/byteorder");
    // Before torch 2.1 there was no such entry, and no big-endian writer.
    if archive.has(&order) && check(bytes, archive, &order).map_err(nameless)? != b"little" {
        return Err(nameless(Fault::BigEndian));
    }
    let pickle = check(bytes, archive, &format!("{root}/data.pkl")).map_err(nameless)?;
    if pickle.len() > MAX_PICKLE {
        return Err(nameless(Fault::TooMuch {
            what: "bytes of pickle",
            limit: MAX_PICKLE,
        }));
    }
    let (heap, value) = pickle::run(pickle).map_err(nameless)?;
    Ok((root, Flat::new(&heap, value)?))
}

/// Recognises what is often found in a torch file's place.
fn recognise(bytes: &[u8]) -> Result<(), Fault> {
    if bytes.starts_with(b"PK") {
        return Ok(());
    }
    let text = bytes.trim_ascii_start();
    Err(match bytes {
        [0x80, 2..=5, ..] => Fault::OldTorch,
        _ if bytes.starts_with(b"version https://git-lfs") => Fault::LfsPointer,
        _ if text.starts_with(b"<!") || text.starts_with(b"<html") => Fault::WebPage,
        [] => Fault::Empty,
        _ => Fault::Zip("it does not start as a ZIP does"),
    })
}
