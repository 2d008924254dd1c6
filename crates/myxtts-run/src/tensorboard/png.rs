//! Pictures, and PNG without compression.
//!
//! Deflate's stored blocks are valid PNG everywhere. A mel of 80 bands and 800
//! frames takes 190 kB that way, a few times a run: not worth a dependency.

use crc32fast::Hasher;

/// A picture of 8-bit red, green and blue, with rows from the top.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    width: u32,
    height: u32,
    rgb: Vec<[u8; 3]>,
}

impl Image {
    /// Makes a picture of `rgb`, row by row. `None` when the sizes do not match
    /// or are zero, which PNG does not allow.
    pub fn new(width: u32, height: u32, rgb: Vec<[u8; 3]>) -> Option<Self> {
        let pixels = u64::from(width).checked_mul(u64::from(height))?;
        (pixels > 0 && pixels == rgb.len() as u64).then_some(Self { width, height, rgb })
    }

    /// Returns the width in pixels.
    pub(crate) fn width(&self) -> u32 {
        self.width
    }

    /// Returns the height in pixels.
    pub(crate) fn height(&self) -> u32 {
        self.height
    }

    /// Encodes the picture as the bytes of a PNG file.
    pub fn png(&self) -> Vec<u8> {
        let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
        let mut header = Vec::with_capacity(13);
        header.extend(self.width.to_be_bytes());
        header.extend(self.height.to_be_bytes());
        // 8 bits, colour, the only compression and filter methods, not interlaced.
        header.extend([8, 2, 0, 0, 0]);
        chunk(&mut file, b"IHDR", &header);
        chunk(&mut file, b"IDAT", &zlib(&self.rows()));
        chunk(&mut file, b"IEND", &[]);
        file
    }

    /// Returns the rows, each behind the byte that says it is not filtered.
    fn rows(&self) -> Vec<u8> {
        let width = usize::try_from(self.width).unwrap_or(usize::MAX);
        let row = |row: &[[u8; 3]]| [&[0], row.as_flattened()].concat();
        self.rgb.chunks(width).flat_map(row).collect()
    }
}

fn chunk(file: &mut Vec<u8>, kind: &[u8; 4], data: &[u8]) {
    // A picture has at most as many bytes as memory; PNG's limit is 2 GB, far
    // above anything drawn here.
    let length = u32::try_from(data.len()).unwrap_or(u32::MAX);
    file.extend(length.to_be_bytes());
    file.extend(kind);
    file.extend(data);
    let mut checksum = Hasher::new();
    checksum.update(kind);
    checksum.update(data);
    file.extend(checksum.finalize().to_be_bytes());
}

/// Wraps `data` in zlib framing, as stored blocks.
fn zlib(data: &[u8]) -> Vec<u8> {
    let mut stream = vec![0x78, 0x01];
    let mut blocks = data.chunks(usize::from(u16::MAX)).peekable();
    while let Some(block) = blocks.next() {
        let length = u16::try_from(block.len()).unwrap_or(u16::MAX);
        stream.push(u8::from(blocks.peek().is_none()));
        stream.extend(length.to_le_bytes());
        stream.extend((!length).to_le_bytes());
        stream.extend(block);
    }
    stream.extend(adler32(data).to_be_bytes());
    stream
}

fn adler32(data: &[u8]) -> u32 {
    const MODULUS: u32 = 65_521;
    let (low, high) = data.iter().fold((1, 0), |(low, high), byte| {
        let low = (low + u32::from(*byte)) % MODULUS;
        (low, (high + low) % MODULUS)
    });
    high << 16 | low
}

#[cfg(test)]
mod tests {
    use super::{Image, adler32};

    #[test]
    fn known_checksum() {
        assert_eq!(adler32(b"Wikipedia"), 0x11E6_0398);
        assert_eq!(adler32(b""), 1);
    }

    #[test]
    fn sizes_that_do_not_fit_are_no_picture() {
        assert!(Image::new(2, 2, vec![[0; 3]; 3]).is_none());
        assert!(Image::new(0, 2, vec![]).is_none());
    }
}
