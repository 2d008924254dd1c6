//! Stored entries, one after another, their bytes on 64-byte borders.

use std::io::{self, Write};

use super::{
    CENTRAL, END, END64, END64_BYTES, EXTRA64, IN_64_16, IN_64_32, LOCAL, LOCAL_BYTES, LOCATOR64,
};

/// The alignment of tensors, as torch places them to map them.
const ALIGNMENT: u64 = 64;
/// The extra field that torch pads with: `FB`.
const PADDING: u16 = 0x4246;
/// The flag that says names are UTF-8.
const FLAGS: u16 = 1 << 11;
/// The first date ZIP knows, 1 January 1980: the same content gives the same file.
const DATE: u16 = 1 << 5 | 1;
/// The version ZIP 4.5, which has 64-bit sizes.
const VERSION: u16 = 45;

struct Written {
    name: String,
    crc: u32,
    size: u64,
    offset: u64,
}

/// Writes an archive from front to back.
pub(in crate::torch) struct ArchiveWriter<W> {
    out: W,
    at: u64,
    entries: Vec<Written>,
}

impl<W: Write> ArchiveWriter<W> {
    pub(in crate::torch) fn new(out: W) -> Self {
        Self::starting_at(out, 0)
    }

    /// Writes behind `at` bytes that are already there.
    pub(super) fn starting_at(out: W, at: u64) -> Self {
        Self {
            out,
            at,
            entries: Vec::new(),
        }
    }

    pub(in crate::torch) fn entry(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let size = bytes.len() as u64;
        let offset = self.at;
        let crc = crc32fast::hash(bytes);
        let mut extra = Vec::new();
        if wide(size) {
            extra64(&mut extra, &[size, size]);
        }
        let before = offset + (LOCAL_BYTES + name.len() + extra.len()) as u64 + 4;
        let padding = before.next_multiple_of(ALIGNMENT) - before;
        extra.extend(PADDING.to_le_bytes());
        extra.extend(narrow16(padding).to_le_bytes());
        extra.extend((0..padding).map(|_| b'Z'));

        let mut header = Vec::new();
        header.extend(LOCAL.to_le_bytes());
        describe(&mut header, crc, size);
        header.extend(length16(name.len())?.to_le_bytes());
        header.extend(length16(extra.len())?.to_le_bytes());
        header.extend(name.as_bytes());
        header.extend(extra);
        self.write(&header)?;
        self.write(bytes)?;
        self.entries.push(Written {
            name: name.to_owned(),
            crc,
            size,
            offset,
        });
        Ok(())
    }

    /// Writes the directory and returns the output.
    pub(in crate::torch) fn finish(mut self) -> io::Result<W> {
        let start = self.at;
        let entries = std::mem::take(&mut self.entries);
        for entry in &entries {
            let mut extra = Vec::new();
            let mut numbers = Vec::new();
            if wide(entry.size) {
                numbers.extend([entry.size, entry.size]);
            }
            if wide(entry.offset) {
                numbers.push(entry.offset);
            }
            if !numbers.is_empty() {
                extra64(&mut extra, &numbers);
            }
            let mut record = Vec::new();
            record.extend(CENTRAL.to_le_bytes());
            record.extend(VERSION.to_le_bytes());
            describe(&mut record, entry.crc, entry.size);
            record.extend(length16(entry.name.len())?.to_le_bytes());
            record.extend(length16(extra.len())?.to_le_bytes());
            // Comment, disk, two sets of attributes.
            record.extend([0; 10]);
            record.extend(narrow32(entry.offset).to_le_bytes());
            record.extend(entry.name.as_bytes());
            record.extend(extra);
            self.write(&record)?;
        }
        self.end(entries.len() as u64, start)?;
        Ok(self.out)
    }

    fn end(&mut self, entries: u64, start: u64) -> io::Result<()> {
        let size = self.at - start;
        let mut end = Vec::new();
        if wide(start) || wide(size) || entries >= u64::from(IN_64_16) {
            let at = self.at;
            end.extend(END64.to_le_bytes());
            end.extend((END64_BYTES as u64 - 12).to_le_bytes());
            end.extend(VERSION.to_le_bytes());
            end.extend(VERSION.to_le_bytes());
            end.extend([0; 8]);
            for number in [entries, entries, size, start] {
                end.extend(number.to_le_bytes());
            }
            end.extend(LOCATOR64.to_le_bytes());
            end.extend([0; 4]);
            end.extend(at.to_le_bytes());
            end.extend(1_u32.to_le_bytes());
        }
        end.extend(END.to_le_bytes());
        end.extend([0; 4]);
        end.extend(narrow16(entries).to_le_bytes());
        end.extend(narrow16(entries).to_le_bytes());
        end.extend(narrow32(size).to_le_bytes());
        end.extend(narrow32(start).to_le_bytes());
        end.extend([0; 2]);
        self.write(&end)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)?;
        self.at += bytes.len() as u64;
        Ok(())
    }
}

/// Appends the fields both headers share: version, flags, method, time, checksum, sizes.
fn describe(header: &mut Vec<u8>, crc: u32, size: u64) {
    header.extend(VERSION.to_le_bytes());
    header.extend(FLAGS.to_le_bytes());
    header.extend([0; 4]);
    header.extend(DATE.to_le_bytes());
    header.extend(crc.to_le_bytes());
    header.extend(narrow32(size).to_le_bytes());
    header.extend(narrow32(size).to_le_bytes());
}

fn extra64(extra: &mut Vec<u8>, numbers: &[u64]) {
    extra.extend(EXTRA64.to_le_bytes());
    extra.extend(narrow16(8 * numbers.len() as u64).to_le_bytes());
    extra.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
}

/// Returns whether a number needs the 64-bit field.
fn wide(number: u64) -> bool {
    number >= u64::from(IN_64_32)
}

fn narrow32(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(IN_64_32)
}

fn narrow16(number: u64) -> u16 {
    u16::try_from(number).unwrap_or(IN_64_16)
}

fn length16(length: usize) -> io::Result<u16> {
    u16::try_from(length).map_err(|_| io::Error::other("the name of an entry is too long"))
}
