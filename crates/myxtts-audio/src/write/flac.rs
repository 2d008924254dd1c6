//! FLAC files: the form in which a prepared dataset is kept, smaller than WAV and exact.

use std::fs;
use std::path::Path;

use flacenc::bitsink::ByteSink;
use flacenc::component::BitRepr;
use flacenc::error::Verify;
use flacenc::source::MemSource;

use super::{FlacError, WriteError};
use crate::cast;
use crate::waveform::Waveform;

/// Writes 16-bit FLAC. Samples beyond full scale are clipped; what is read back
/// is what [`write_wav_pcm16`](super::write_wav_pcm16) would have written.
pub fn write_flac_pcm16(path: &Path, waveform: &Waveform) -> Result<(), WriteError> {
    let bytes = flac_pcm16(waveform).map_err(|source| WriteError::Encode {
        path: path.to_owned(),
        source,
    })?;
    fs::write(path, bytes).map_err(|source| WriteError::Io {
        path: path.to_owned(),
        source,
    })
}

/// Encodes the bytes of a 16-bit FLAC file.
///
/// # Errors
/// The reason the encoder gives.
pub fn flac_pcm16(waveform: &Waveform) -> Result<Vec<u8>, FlacError> {
    let config = flacenc::config::Encoder::default()
        .into_verified()
        .map_err(|(_, why)| FlacError::new(why))?;
    let samples: Vec<i32> = waveform
        .samples
        .iter()
        .map(|&x| i32::from(cast::to_pcm16(x)))
        .collect();
    let rate = usize::try_from(waveform.rate.hz()).map_err(FlacError::new)?;
    let source = MemSource::from_samples(&samples, 1, 16, rate);
    let mut stream = flacenc::encode_with_fixed_block_size(&config, source, config.block_size)
        .map_err(FlacError::new)?;
    // The encoder counts the last, shorter block as the smallest. The format does
    // not, and readers refuse a smallest block below 16.
    let block = config.block_size;
    stream
        .stream_info_mut()
        .set_block_sizes(block, block)
        .map_err(FlacError::new)?;
    let mut sink = ByteSink::new();
    stream.write(&mut sink).map_err(FlacError::new)?;
    Ok(sink.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::{Limits, decode};
    use crate::units::SampleRate;
    use crate::write::write_wav_pcm16;

    /// Any length comes back as WAV would have, and smaller where there is
    /// something to win.
    #[test]
    fn flac_holds_what_wav_holds() {
        let folder = tempfile::tempdir().unwrap();
        let (flac, wav) = (folder.path().join("x.flac"), folder.path().join("x.wav"));
        for length in [1, 2, 15, 16, 31, 33, 64, 4095, 4096, 4097, 30_000_u16] {
            let samples = (0..length)
                .map(|n| (f32::from(n) * 0.05).sin() * 1.2)
                .collect();
            let waveform = Waveform {
                samples,
                rate: SampleRate::XTTS,
            };
            write_flac_pcm16(&flac, &waveform).unwrap();
            write_wav_pcm16(&wav, &waveform).unwrap();
            let back = |path| decode(path, &Limits::default()).unwrap();
            assert_eq!(back(&flac), back(&wav), "{length}");
        }
        let size = |path| fs::metadata(path).unwrap().len();
        assert!(
            size(&flac) * 4 < size(&wav) * 3,
            "{} of {}",
            size(&flac),
            size(&wav)
        );
    }

    #[test]
    fn silence_and_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.flac");
        let silence = Waveform {
            samples: vec![0.0; 10_000],
            rate: SampleRate::XTTS,
        };
        write_flac_pcm16(&path, &silence).unwrap();
        assert_eq!(decode(&path, &Limits::default()).unwrap().waveform, silence);

        let nothing = Waveform {
            samples: Vec::new(),
            rate: SampleRate::XTTS,
        };
        write_flac_pcm16(&path, &nothing).unwrap();
        assert!(decode(&path, &Limits::default()).is_err());
    }

    #[test]
    fn a_missing_folder_is_named() {
        let waveform = Waveform {
            samples: vec![0.0],
            rate: SampleRate::XTTS,
        };
        let error = write_flac_pcm16(Path::new("/no/such/folder/x.flac"), &waveform).unwrap_err();
        insta::assert_snapshot!(error.to_string());
    }
}
