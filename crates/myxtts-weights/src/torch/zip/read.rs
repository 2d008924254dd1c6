//! The central directory, checked against the file before anything is used.

use std::collections::BTreeMap;
use std::ops::Range;

use super::{
    CENTRAL, CENTRAL_BYTES, END, END_BYTES, END64, END64_BYTES, EXTRA64, IN_64_16, IN_64_32, LOCAL,
    LOCAL_BYTES, LOCATOR64, LOCATOR64_BYTES,
};
use crate::error::Fault;

/// Where an entry's bytes are, inside the file.
#[derive(Clone, Debug)]
pub(in crate::torch) struct Entry {
    pub(in crate::torch) range: Range<usize>,
    /// The checksum as stored; torch writes 0 when told not to compute it.
    pub(in crate::torch) crc: u32,
    /// Whether it is stored plainly, as torch does.
    plain: bool,
}

/// The entries of an archive by name.
#[derive(Debug)]
pub(in crate::torch) struct Archive {
    entries: BTreeMap<String, Entry>,
}

impl Archive {
    pub(in crate::torch) fn read(bytes: &[u8]) -> Result<Self, Fault> {
        let directory = directory(bytes)?;
        let mut entries = BTreeMap::new();
        let mut at = directory.start;
        while at < directory.end {
            let central = Central::read(bytes, at)
                .filter(|central| central.end <= directory.end)
                .ok_or(Fault::Zip("its directory of entries is broken"))?;
            at = central.end;
            let range = central
                .data(bytes, directory.start)
                .ok_or(Fault::Zip("an entry lies outside the file"))?;
            let entry = Entry {
                range,
                crc: central.crc,
                plain: central.plain,
            };
            let name = central.name;
            if entries.insert(name.clone(), entry).is_some() {
                return Err(Fault::DuplicateEntry(name));
            }
        }
        Ok(Self { entries })
    }

    /// Returns an entry that is there and stored plainly.
    pub(in crate::torch) fn entry(&self, name: &str) -> Result<&Entry, Fault> {
        let entry = self
            .entries
            .get(name)
            .ok_or_else(|| Fault::MissingEntry(name.to_owned()))?;
        if !entry.plain {
            return Err(Fault::Compressed(name.to_owned()));
        }
        Ok(entry)
    }

    pub(in crate::torch) fn has(&self, name: &str) -> bool {
        self.entries.contains_key(name)
    }

    /// Returns the folder all entries of a torch file are in: that of `data.pkl`.
    pub(in crate::torch) fn root(&self) -> Result<&str, Fault> {
        self.entries
            .keys()
            .find_map(|name| {
                name.strip_suffix("/data.pkl")
                    .filter(|root| !root.contains('/'))
            })
            .ok_or_else(|| Fault::MissingEntry("data.pkl".to_owned()))
    }
}

/// Finds the central directory.
fn directory(bytes: &[u8]) -> Result<Range<usize>, Fault> {
    const CUT: Fault = Fault::Zip(
        "it has no directory of entries at its end, so it was cut short or is not a ZIP",
    );
    let end = find_end(bytes).ok_or(CUT)?;
    let entries = u16_at(bytes, end + 10).ok_or(CUT)?;
    let size = u32_at(bytes, end + 12).ok_or(CUT)?;
    let offset = u32_at(bytes, end + 16).ok_or(CUT)?;
    let (size, offset, limit) = if entries == IN_64_16 || size == IN_64_32 || offset == IN_64_32 {
        end64(bytes, end).ok_or(Fault::Zip("its 64-bit directory is broken"))?
    } else {
        (u64::from(size), u64::from(offset), end)
    };
    let range = || {
        let start = usize::try_from(offset).ok()?;
        let end = start.checked_add(usize::try_from(size).ok()?)?;
        (end <= limit).then_some(start..end)
    };
    range().ok_or(Fault::Zip("its directory lies outside the file"))
}

/// Finds the end record: the last place with its mark and a comment that reaches
/// exactly to the end of the file.
fn find_end(bytes: &[u8]) -> Option<usize> {
    let last = bytes.len().checked_sub(END_BYTES)?;
    let first = last.saturating_sub(usize::from(u16::MAX));
    (first..=last).rev().find(|at| {
        u32_at(bytes, *at) == Some(END)
            && u16_at(bytes, at + 20).is_some_and(|comment| last - at == usize::from(comment))
    })
}

/// Returns the size and offset of the directory and where it must have ended, from
/// the 64-bit end record.
fn end64(bytes: &[u8], end: usize) -> Option<(u64, u64, usize)> {
    let locator = end.checked_sub(LOCATOR64_BYTES)?;
    if u32_at(bytes, locator)? != LOCATOR64 {
        return None;
    }
    let at = usize::try_from(u64_at(bytes, locator + 8)?).ok()?;
    if at.checked_add(END64_BYTES)? > locator || u32_at(bytes, at)? != END64 {
        return None;
    }
    Some((u64_at(bytes, at + 40)?, u64_at(bytes, at + 48)?, at))
}

/// One record of the central directory.
struct Central {
    name: String,
    plain: bool,
    crc: u32,
    size: u64,
    local: u64,
    end: usize,
}

impl Central {
    fn read(bytes: &[u8], at: usize) -> Option<Self> {
        if u32_at(bytes, at)? != CENTRAL {
            return None;
        }
        let flags = u16_at(bytes, at + 8)?;
        let method = u16_at(bytes, at + 10)?;
        let stored = u64::from(u32_at(bytes, at + 20)?);
        let mut size = u64::from(u32_at(bytes, at + 24)?);
        let mut local = u64::from(u32_at(bytes, at + 42)?);
        let name = at + CENTRAL_BYTES;
        let extra = name + usize::from(u16_at(bytes, at + 28)?);
        let comment = extra + usize::from(u16_at(bytes, at + 30)?);
        let end = comment + usize::from(u16_at(bytes, at + 32)?);
        let name = std::str::from_utf8(bytes.get(name..extra)?).ok()?;
        // A stored entry has one size, given twice.
        let mut plain = flags & 1 == 0 && method == 0 && stored == size;
        // The 64-bit field holds, in this order, the values that did not fit.
        let mut wide = extra64(bytes.get(extra..comment)?);
        if size == u64::from(IN_64_32) {
            size = next64(&mut wide)?;
            if stored == u64::from(IN_64_32) {
                plain &= next64(&mut wide)? == size;
            }
        }
        if local == u64::from(IN_64_32) {
            local = next64(&mut wide)?;
        }
        Some(Self {
            name: name.to_owned(),
            plain,
            crc: u32_at(bytes, at + 16)?,
            size,
            local,
            end,
        })
    }

    /// Returns where the entry's bytes are: behind its local header and before the
    /// directory.
    fn data(&self, bytes: &[u8], directory: usize) -> Option<Range<usize>> {
        let local = usize::try_from(self.local).ok()?;
        let header = bytes.get(local..local.checked_add(LOCAL_BYTES)?)?;
        if u32_at(header, 0)? != LOCAL {
            return None;
        }
        let names = usize::from(u16_at(header, 26)?) + usize::from(u16_at(header, 28)?);
        let start = local.checked_add(LOCAL_BYTES + names)?;
        // The packed size of a compressed entry is not needed: it is not read.
        let size = if self.plain { self.size } else { 0 };
        let end = start.checked_add(usize::try_from(size).ok()?)?;
        (end <= directory).then_some(start..end)
    }
}

/// Returns the content of the 64-bit extra field, empty if there is none.
fn extra64(mut extra: &[u8]) -> &[u8] {
    while let (Some(id), Some(length)) = (u16_at(extra, 0), u16_at(extra, 2)) {
        let end = 4 + usize::from(length);
        if id == EXTRA64 {
            return extra.get(4..end).unwrap_or_default();
        }
        extra = extra.get(end..).unwrap_or_default();
    }
    &[]
}

fn next64(bytes: &mut &[u8]) -> Option<u64> {
    let (number, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(u64::from_le_bytes(*number))
}

fn at<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

fn u16_at(bytes: &[u8], offset: usize) -> Option<u16> {
    at(bytes, offset).map(u16::from_le_bytes)
}

fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    at(bytes, offset).map(u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], offset: usize) -> Option<u64> {
    at(bytes, offset).map(u64::from_le_bytes)
}
