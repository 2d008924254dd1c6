//! The two 32-bit checksums in use: Castagnoli's for records, the IEEE one for
//! PNG. They are the same algorithm over different polynomials.

/// The table of a checksum that is computed a byte at a time.
pub(super) struct Crc([u32; 256]);

/// CRC-32C, polynomial 0x1EDC6F41, bits reversed.
pub(super) static CASTAGNOLI: Crc = Crc::table(0x82F6_3B78);
/// CRC-32 of PNG and zip, polynomial 0x04C11DB7, bits reversed.
pub(super) static IEEE: Crc = Crc::table(0xEDB8_8320);

impl Crc {
    const fn table(polynomial: u32) -> Self {
        let mut table = [0; 256];
        let mut byte = 0_usize;
        while byte < table.len() {
            #[expect(clippy::cast_possible_truncation, reason = "below 256")]
            let mut crc = byte as u32;
            let mut bit = 0;
            while bit < 8 {
                crc = if crc & 1 == 1 {
                    (crc >> 1) ^ polynomial
                } else {
                    crc >> 1
                };
                bit += 1;
            }
            table[byte] = crc;
            byte += 1;
        }
        Self(table)
    }

    /// Computes the checksum of `parts`, one after the other.
    pub(super) fn of(&self, parts: &[&[u8]]) -> u32 {
        let bytes = parts.iter().flat_map(|part| part.iter());
        !bytes.fold(u32::MAX, |crc, byte| {
            let [low, ..] = crc.to_le_bytes();
            (crc >> 8) ^ self.0[usize::from(low ^ byte)]
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{CASTAGNOLI, IEEE};

    /// Bit by bit, as the polynomial division is defined.
    fn slow(polynomial: u32, bytes: &[u8]) -> u32 {
        !bytes.iter().fold(u32::MAX, |crc, byte| {
            (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
                (crc >> 1) ^ (polynomial * (crc & 1))
            })
        })
    }

    #[test]
    fn known_vectors() {
        assert_eq!(CASTAGNOLI.of(&[b"123456789"]), 0xE306_9283);
        assert_eq!(IEEE.of(&[b"123456789"]), 0xCBF4_3926);
        // RFC 3720, B.4.
        assert_eq!(CASTAGNOLI.of(&[&[0; 32]]), 0x8A91_36AA);
        assert_eq!(CASTAGNOLI.of(&[&[0xFF; 32]]), 0x62A8_AB43);
        let rising: Vec<u8> = (0..32).collect();
        assert_eq!(CASTAGNOLI.of(&[&rising]), 0x46DD_794E);
        assert_eq!(CASTAGNOLI.of(&[]), 0);
    }

    proptest! {
        #[test]
        fn like_the_definition(a: Vec<u8>, b: Vec<u8>) {
            let joined = [a.clone(), b.clone()].concat();
            prop_assert_eq!(CASTAGNOLI.of(&[&a, &b]), slow(0x82F6_3B78, &joined));
            prop_assert_eq!(IEEE.of(&[&a, &b]), slow(0xEDB8_8320, &joined));
        }
    }
}
