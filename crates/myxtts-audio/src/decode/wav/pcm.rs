//! Converting PCM bytes to mono `f32`.
//!
//! Each encoding is a function from a fixed-size array to `f32`, inlined into a
//! loop over `as_chunks`: lengths are known at compile time, so the compiler
//! vectorises and checks no bounds. Full scale is divided out by a power of
//! two, as torchaudio does, so 8 to 24-bit values are exact.

/// How one sample is stored, little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    /// Unsigned bytes around 128.
    U8,
    /// Signed integers of 16 bits.
    I16,
    /// Signed integers of 24 bits.
    I24,
    /// Signed integers of 32 bits.
    I32,
    /// Floats of 32 bits.
    F32,
    /// Floats of 64 bits.
    F64,
}

impl Encoding {
    /// Returns the bytes of one sample of one channel.
    pub(super) fn bytes(self) -> usize {
        match self {
            Self::U8 => 1,
            Self::I16 => 2,
            Self::I24 => 3,
            Self::I32 | Self::F32 => 4,
            Self::F64 => 8,
        }
    }
}

/// Replaces `out` by the mean over `channels` of interleaved `data`. A partial
/// last frame is not read.
pub(super) fn mono(encoding: Encoding, channels: usize, data: &[u8], out: &mut Vec<f32>) {
    out.clear();
    match encoding {
        Encoding::U8 => mean(channels, data, out, |[b]: [u8; 1]| {
            (f32::from(b) - 128.0) / 128.0
        }),
        Encoding::I16 => mean(channels, data, out, |b| {
            f32::from(i16::from_le_bytes(b)) / 32_768.0
        }),
        Encoding::I24 => mean(channels, data, out, |[a, b, c]: [u8; 3]| {
            i32::from_le_bytes([0, a, b, c]) as f32 / 2_147_483_648.0
        }),
        Encoding::I32 => mean(channels, data, out, |b| {
            i32::from_le_bytes(b) as f32 / 2_147_483_648.0
        }),
        Encoding::F32 => mean(channels, data, out, f32::from_le_bytes),
        Encoding::F64 => mean(channels, data, out, |b| {
            crate::cast::to_f32(f64::from_le_bytes(b))
        }),
    }
}

fn mean<const BYTES: usize>(
    channels: usize,
    data: &[u8],
    out: &mut Vec<f32>,
    sample: impl Fn([u8; BYTES]) -> f32,
) {
    let (samples, _) = data.as_chunks::<BYTES>();
    match channels {
        1 => out.extend(samples.iter().map(|&bytes| sample(bytes))),
        2 => {
            let (frames, _) = samples.as_chunks::<2>();
            out.extend(
                frames
                    .iter()
                    .map(|&[left, right]| (sample(left) + sample(right)) / 2.0),
            );
        }
        _ => {
            let share = channels as f32;
            out.extend(
                samples
                    .chunks_exact(channels)
                    .map(|frame| frame.iter().map(|&bytes| sample(bytes)).sum::<f32>() / share),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Into a buffer with something in it, as workers have it.
    fn mono(encoding: Encoding, channels: usize, data: &[u8]) -> Vec<f32> {
        let mut out = vec![7.0; 3];
        super::mono(encoding, channels, data, &mut out);
        out
    }

    #[test]
    fn ends_of_the_range() {
        assert_eq!(
            mono(Encoding::U8, 1, &[0, 128, 255]),
            [-1.0, 0.0, 127.0 / 128.0]
        );
        assert_eq!(
            mono(Encoding::I16, 1, &[0, 0x80, 0xff, 0x7f]),
            [-1.0, 32_767.0 / 32_768.0]
        );
        assert_eq!(
            mono(Encoding::I24, 1, &[0, 0, 0x80, 1, 0, 0]),
            [-1.0, 1.0 / 8_388_608.0]
        );
        assert_eq!(mono(Encoding::I32, 1, &i32::MIN.to_le_bytes()), [-1.0]);
        assert_eq!(mono(Encoding::F64, 1, &0.5_f64.to_le_bytes()), [0.5]);
    }

    #[test]
    fn channels_are_averaged() {
        let frame = [100_i16, 200, 600].map(i16::to_le_bytes).concat();
        assert_eq!(mono(Encoding::I16, 3, &frame), [300.0 / 32_768.0]);
        assert_eq!(mono(Encoding::I16, 2, &frame[..4]), [150.0 / 32_768.0]);
    }

    #[test]
    fn a_partial_frame_is_left_alone() {
        assert_eq!(mono(Encoding::I16, 2, &[0; 7]).len(), 1);
        assert_eq!(mono(Encoding::I24, 5, &[0; 14]).len(), 0);
    }
}
