//! The part of ZIP that torch uses: plain stored entries, with ZIP64 sizes.

mod read;
mod write;

pub(super) use read::Archive;
pub(super) use write::ArchiveWriter;

const LOCAL: u32 = 0x0403_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;
const END64: u32 = 0x0606_4b50;
const LOCATOR64: u32 = 0x0706_4b50;

const LOCAL_BYTES: usize = 30;
const CENTRAL_BYTES: usize = 46;
const END_BYTES: usize = 22;
const END64_BYTES: usize = 56;
const LOCATOR64_BYTES: usize = 20;

/// The extra field that holds 64-bit sizes.
const EXTRA64: u16 = 1;
/// Marks a 16- or 32-bit field whose value is in the 64-bit one.
const IN_64_16: u16 = u16::MAX;
const IN_64_32: u32 = u32::MAX;

#[cfg(test)]
mod tests {
    use std::io::{Seek, SeekFrom};

    use super::*;
    use crate::source::Source;

    #[test]
    fn more_entries_than_16_bits_count() {
        let mut writer = ArchiveWriter::new(Vec::new());
        for index in 0..70_000_u32 {
            writer
                .entry(&format!("x/{index}"), &index.to_le_bytes())
                .unwrap();
        }
        let bytes = writer.finish().unwrap();
        let archive = Archive::read(&bytes).unwrap();
        for index in [0, 65_535, 69_999_u32] {
            let entry = archive.entry(&format!("x/{index}")).unwrap();
            assert_eq!(bytes[entry.range.clone()], index.to_le_bytes());
        }
    }

    #[test]
    fn entries_past_four_gigabytes() {
        // A hole takes no disk: the first entry lies behind one of 5 GiB.
        let hole = 5 << 30;
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.as_file_mut().seek(SeekFrom::Start(hole)).unwrap();
        let mut writer = ArchiveWriter::starting_at(file.as_file(), hole);
        writer.entry("x/far", b"away").unwrap();
        writer.finish().unwrap();
        let source = Source::open(file.path()).unwrap();
        let archive = Archive::read(source.bytes()).unwrap();
        let entry = archive.entry("x/far").unwrap();
        assert_eq!(source.get(entry.range.clone()), Some(&b"away"[..]));
    }
}
