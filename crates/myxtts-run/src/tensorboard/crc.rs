//! The checksum of records: Castagnoli's CRC-32C, polynomial 0x1EDC6F41, bits
//! reversed. `crc32fast` knows the polynomial of PNG and ZIP alone.

const POLYNOMIAL: u32 = 0x82F6_3B78;

/// The remainder of every byte.
static TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0_usize;
    while byte < table.len() {
        #[expect(clippy::cast_possible_truncation, reason = "below 256")]
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = (crc >> 1) ^ (POLYNOMIAL * (crc & 1));
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
};

/// Computes the checksum of `bytes`.
pub(super) fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        let [low, ..] = crc.to_le_bytes();
        (crc >> 8) ^ TABLE[usize::from(low ^ byte)]
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{POLYNOMIAL, crc32c};

    /// Bit by bit, as the polynomial division is defined.
    fn slow(bytes: &[u8]) -> u32 {
        !bytes.iter().fold(u32::MAX, |crc, byte| {
            (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
                (crc >> 1) ^ (POLYNOMIAL * (crc & 1))
            })
        })
    }

    #[test]
    fn known_vectors() {
        assert_eq!(crc32c(b"123456789"), 0xE306_9283);
        // RFC 3720, B.4.
        assert_eq!(crc32c(&[0; 32]), 0x8A91_36AA);
        assert_eq!(crc32c(&[0xFF; 32]), 0x62A8_AB43);
        let rising: Vec<u8> = (0..32).collect();
        assert_eq!(crc32c(&rising), 0x46DD_794E);
        assert_eq!(crc32c(&[]), 0);
    }

    proptest! {
        #[test]
        fn like_the_definition(bytes: Vec<u8>) {
            prop_assert_eq!(crc32c(&bytes), slow(&bytes));
        }
    }
}
