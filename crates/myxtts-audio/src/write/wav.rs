//! WAV files.
//!
//! They are mono, with one `fmt ` and one `data` chunk: a header of 44 bytes is
//! not worth a dependency.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use super::WriteError;
use crate::cast;
use crate::units::SampleRate;
use crate::waveform::Waveform;

/// Writes 16-bit PCM. Samples beyond full scale are clipped.
pub fn write_wav_pcm16(path: &Path, waveform: &Waveform) -> Result<(), WriteError> {
    write(path, waveform, Encoding { tag: 1, bits: 16 }, |x| {
        cast::to_pcm16(x).to_le_bytes()
    })
}

/// Writes 32-bit float, every sample as it is.
pub fn write_wav_f32(path: &Path, waveform: &Waveform) -> Result<(), WriteError> {
    write(
        path,
        waveform,
        Encoding { tag: 3, bits: 32 },
        f32::to_le_bytes,
    )
}

/// The two fields of the header that differ between encodings.
struct Encoding {
    tag: u16,
    bits: u16,
}

fn write<const BYTES: usize>(
    path: &Path,
    waveform: &Waveform,
    encoding: Encoding,
    bytes_of: impl Fn(f32) -> [u8; BYTES],
) -> Result<(), WriteError> {
    let bytes = waveform.samples.len().saturating_mul(BYTES);
    let Some(size) = data_size(bytes) else {
        return Err(WriteError::TooLong {
            path: path.to_owned(),
            bytes,
        });
    };
    let write = || -> io::Result<()> {
        let mut file = BufWriter::new(File::create(path)?);
        write_to(&mut file, waveform, size, encoding, bytes_of)?;
        file.flush()
    };
    write().map_err(|source| WriteError::Io {
        path: path.to_owned(),
        source,
    })
}

/// Encodes the bytes of a 16-bit PCM file; `None` beyond the 4 GB that one can hold.
pub fn wav_pcm16(waveform: &Waveform) -> Option<Vec<u8>> {
    let size = data_size(waveform.samples.len().saturating_mul(2))?;
    let mut bytes = Vec::with_capacity(44 + waveform.samples.len() * 2);
    let encoding = Encoding { tag: 1, bits: 16 };
    let written = write_to(&mut bytes, waveform, size, encoding, |x| {
        cast::to_pcm16(x).to_le_bytes()
    });
    // Writing to memory does not fail.
    written.ok().map(|()| bytes)
}

/// Returns the header of a 16-bit PCM file whose length is not known yet, to
/// write to a pipe. Both sizes are the largest possible, which players take for
/// "until it ends".
pub fn wav_pcm16_header(rate: SampleRate) -> Vec<u8> {
    let nothing = Waveform {
        samples: vec![],
        rate,
    };
    let mut header = wav_pcm16(&nothing).unwrap_or_default();
    for size in [4..8, 40..44] {
        if let Some(size) = header.get_mut(size) {
            size.fill(0xff);
        }
    }
    header
}

/// Converts samples to 16-bit PCM, little-endian; those beyond full scale are clipped.
pub fn pcm16(samples: &[f32]) -> Vec<u8> {
    let bytes = samples.iter().map(|x| cast::to_pcm16(*x).to_le_bytes());
    bytes.flatten().collect()
}

fn data_size(bytes: usize) -> Option<u32> {
    u32::try_from(bytes)
        .ok()
        .filter(|size| *size <= u32::MAX - 36)
}

fn write_to<const BYTES: usize>(
    file: &mut impl Write,
    waveform: &Waveform,
    size: u32,
    encoding: Encoding,
    bytes_of: impl Fn(f32) -> [u8; BYTES],
) -> io::Result<()> {
    let rate = waveform.rate.hz();
    let block = encoding.bits / 8;
    file.write_all(b"RIFF")?;
    file.write_all(&(36 + size).to_le_bytes())?;
    file.write_all(b"WAVEfmt ")?;
    file.write_all(&16_u32.to_le_bytes())?;
    file.write_all(&encoding.tag.to_le_bytes())?;
    file.write_all(&1_u16.to_le_bytes())?;
    file.write_all(&rate.to_le_bytes())?;
    file.write_all(&rate.saturating_mul(u32::from(block)).to_le_bytes())?;
    file.write_all(&block.to_le_bytes())?;
    file.write_all(&encoding.bits.to_le_bytes())?;
    file.write_all(b"data")?;
    file.write_all(&size.to_le_bytes())?;
    for &sample in &waveform.samples {
        file.write_all(&bytes_of(sample))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::{Limits, decode, decode_bytes};

    fn waveform(samples: &[f32]) -> Waveform {
        Waveform {
            samples: samples.to_vec(),
            rate: SampleRate::VOCODER,
        }
    }

    /// A stream is read back as the file of the same samples.
    #[test]
    fn a_stream_is_a_file_without_its_length() {
        let whole = waveform(&[0.25, -0.5, 2.0, 0.0]);
        let [first, rest] = [&whole.samples[..1], &whole.samples[1..]].map(pcm16);
        let stream = [wav_pcm16_header(whole.rate), first, rest].concat();
        let file = wav_pcm16(&whole).unwrap();
        assert_eq!(stream.len(), file.len());
        let read = |bytes: &[u8]| decode_bytes(bytes, &Limits::default()).unwrap();
        assert_eq!(read(&stream), read(&file));
    }

    #[test]
    fn float_comes_back_exactly() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.wav");
        let original = waveform(&[0.1, -2.5, 1e-20]);
        write_wav_f32(&path, &original).unwrap();
        assert_eq!(
            decode(&path, &Limits::default()).unwrap().waveform,
            original
        );
    }

    #[test]
    fn pcm_comes_back_to_its_resolution_and_clipped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.wav");
        write_wav_pcm16(&path, &waveform(&[0.25, -0.1, 2.0, -2.0])).unwrap();
        let back = decode(&path, &Limits::default()).unwrap().waveform;
        assert_eq!(back.rate, SampleRate::VOCODER);
        for (back, expected) in back
            .samples
            .iter()
            .zip([0.25, -0.1, 32_767.0 / 32_768.0, -1.0])
        {
            assert!(
                (back - expected).abs() <= 0.5 / 32_768.0,
                "{back} {expected}"
            );
        }
    }

    #[test]
    fn a_missing_folder_is_named() {
        let error =
            write_wav_f32(Path::new("/no/such/folder/x.wav"), &waveform(&[0.0])).unwrap_err();
        insta::assert_snapshot!(error.to_string());
    }
}
