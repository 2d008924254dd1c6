//! TFRecord framing: length, checksum of the length, data, checksum of the data.
//! All are little-endian, the length in eight bytes, the checksums in four.

use std::io::{self, Write};

use super::crc::crc32c;

/// Writes `data` as one record.
pub(super) fn write(file: &mut impl Write, data: &[u8]) -> io::Result<()> {
    let length = (data.len() as u64).to_le_bytes();
    file.write_all(&length)?;
    file.write_all(&masked(&length).to_le_bytes())?;
    file.write_all(data)?;
    file.write_all(&masked(data).to_le_bytes())
}

/// Returns a checksum, rotated and shifted so that one over data which itself
/// holds checksums keeps its strength.
fn masked(data: &[u8]) -> u32 {
    crc32c(data).rotate_right(15).wrapping_add(0xA282_EAD8)
}
