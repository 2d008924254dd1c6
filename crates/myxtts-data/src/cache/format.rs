//! The entry format, version 1.
//!
//! Spec first; the reader enforces every line of it while parsing. All
//! numbers are little-endian.
//!
//! | offset | bytes | what |
//! |---|---|---|
//! | 0 | 8 | magic `MYXFEAT\n` |
//! | 8 | 4 | version, 1 |
//! | 12 | 4 | element type: 1 = f32, 2 = u16 |
//! | 16 | 4 | rows |
//! | 20 | 4 | columns |
//! | 24 | 8 | zero |
//! | 32 | 32 | key: BLAKE3 of what the entry was made from |
//! | 64 | 32 | BLAKE3 of the payload |
//! | 96 | rows x columns x element size | payload, row-major |
//!
//! Nothing follows the payload.

use thiserror::Error;

pub(super) const MAGIC: [u8; 8] = *b"MYXFEAT\n";
pub(super) const VERSION: u32 = 1;
pub(super) const HEADER: usize = 96;

/// The largest payload in bytes; no feature of a clip is larger.
const LARGEST_PAYLOAD: u64 = 1 << 31;
/// The largest entry in bytes, header included.
pub(super) const LARGEST: u64 = LARGEST_PAYLOAD + HEADER as u64;

/// The type of an entry's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// 32-bit floats, for features.
    F32,
    /// 16-bit unsigned integers, for codes.
    U16,
}

impl Element {
    /// Returns the size of one element in bytes.
    pub fn size(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::U16 => 2,
        }
    }

    fn tag(self) -> u32 {
        match self {
            Self::F32 => 1,
            Self::U16 => 2,
        }
    }
}

/// The shape of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryShape {
    /// The type of the elements.
    pub element: Element,
    /// The number of rows.
    pub rows: u32,
    /// The number of columns.
    pub columns: u32,
}

impl EntryShape {
    /// Returns the size of the payload in bytes, or `None` if an entry may not hold
    /// that much.
    pub fn payload(&self) -> Option<usize> {
        let elements = u64::from(self.rows) * u64::from(self.columns);
        let bytes = elements.checked_mul(self.element.size() as u64)?;
        (bytes <= LARGEST_PAYLOAD).then(|| usize::try_from(bytes).ok())?
    }
}

/// Why bytes are not an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Malformed {
    /// The file is shorter than a header.
    #[error("it ends inside its header")]
    Short,
    /// The file is of another kind.
    #[error("it does not start with the magic of a feature file")]
    Magic,
    /// The version is not one that this program knows.
    #[error("it has version {0}, but this program reads version {VERSION}")]
    Version(u32),
    /// The element type is not one of this version.
    #[error("it has the unknown element type {0}")]
    ElementType(u32),
    /// Bytes that must be zero are not.
    #[error("its reserved bytes are not zero")]
    Reserved,
    /// The payload is larger than an entry may hold.
    #[error("its shape is larger than any clip's")]
    TooLarge,
    /// The file's length and its shape disagree.
    #[error("it has {found} bytes of payload, but its shape needs {needed}")]
    Length {
        /// The number of bytes the shape needs.
        needed: usize,
        /// The number of bytes found.
        found: usize,
    },
    /// The entry was made for another key.
    #[error("it was made from something other than its name says")]
    Key,
    /// The payload is not what was written.
    #[error("its checksum does not match")]
    Checksum,
}

/// Returns the header of an entry.
pub(super) fn header(shape: EntryShape, key: &[u8; 32], payload: &[u8]) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    header[..8].copy_from_slice(&MAGIC);
    for (at, number) in [
        (8, VERSION),
        (12, shape.element.tag()),
        (16, shape.rows),
        (20, shape.columns),
    ] {
        header[at..at + 4].copy_from_slice(&number.to_le_bytes());
    }
    header[32..64].copy_from_slice(key);
    header[64..96].copy_from_slice(blake3::hash(payload).as_bytes());
    header
}

/// Checks `bytes` against every line of the format; the payload is what follows the header.
pub(super) fn parse(bytes: &[u8], key: &[u8; 32]) -> Result<EntryShape, Malformed> {
    let Some((header, payload)) = bytes.split_at_checked(HEADER) else {
        return Err(Malformed::Short);
    };
    let number = |at: usize| {
        header[at..at + 4]
            .iter()
            .rev()
            .fold(0_u32, |number, byte| number << 8 | u32::from(*byte))
    };
    if header[..8] != MAGIC {
        return Err(Malformed::Magic);
    }
    if number(8) != VERSION {
        return Err(Malformed::Version(number(8)));
    }
    let element = match number(12) {
        1 => Element::F32,
        2 => Element::U16,
        other => return Err(Malformed::ElementType(other)),
    };
    if header[24..32] != [0; 8] {
        return Err(Malformed::Reserved);
    }
    let shape = EntryShape {
        element,
        rows: number(16),
        columns: number(20),
    };
    let needed = shape.payload().ok_or(Malformed::TooLarge)?;
    if payload.len() != needed {
        return Err(Malformed::Length {
            needed,
            found: payload.len(),
        });
    }
    if header[32..64] != *key {
        return Err(Malformed::Key);
    }
    if header[64..96] != *blake3::hash(payload).as_bytes() {
        return Err(Malformed::Checksum);
    }
    Ok(shape)
}
