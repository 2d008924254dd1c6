//! Decoding files into mono waveforms.
//!
//! A file is read once and recognised by its first bytes, never by its name:
//! datasets are full of MP3 called `.wav`. The WAV decoder is ours (`wav/`),
//! because WAV is what training reads all day, and a straight pass over the bytes
//! needs no packets; everything else goes to `symphonia` (`compressed`).
//!
//! [`decode_bytes`] is a pure function of the bytes, which is what the property
//! tests drive; [`decode`] adds the path.

mod beginning;
mod compressed;
mod fault;
mod sniff;
mod wav;
mod whole;

use std::path::Path;

pub(crate) use beginning::decode_beginning;
pub use fault::{DecodeError, Fault};

use crate::units::{SampleRate, Samples, Seconds};
use crate::waveform::Waveform;
use sniff::Container;

/// The sample rates that a header may state, in Hz. Outside of them a header
/// lies, and a resampler would allocate on its word.
const RATES: std::ops::RangeInclusive<u32> = 1_000..=768_000;

/// The most that a decoder may spend on one file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// The longest recording accepted, ten minutes by default: a clip for
    /// training is seconds long, and this bounds the memory a worker can need.
    pub longest: Seconds,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            longest: Seconds(600.0),
        }
    }
}

impl Limits {
    fn check(&self, length: Samples, rate: SampleRate) -> Result<(), Fault> {
        let length = length.at(rate);
        if length > self.longest {
            return Err(Fault::TooLong {
                length,
                limit: self.longest,
            });
        }
        Ok(())
    }
}

/// What the file held before it became mono.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// The number of channels that were averaged.
    pub channels: u16,
    /// The sample rate of the file.
    pub rate: SampleRate,
    /// The number of samples per channel.
    pub samples: Samples,
}

/// A decoded file, in mono.
#[derive(Clone, Debug, PartialEq)]
pub struct Decoded {
    /// The mean of the channels, at the rate of the file.
    pub waveform: Waveform,
    /// What the waveform was made from.
    pub source: Source,
}

/// Decodes the file at `path` to mono at its own rate.
pub fn decode(path: &Path, limits: &Limits) -> Result<Decoded, DecodeError> {
    let mut waveform = Waveform::default();
    let source = decode_into(path, limits, &mut waveform)?;
    Ok(Decoded { waveform, source })
}

/// Like [`decode`], but into a waveform whose memory is reused. After an error it
/// holds nothing of use.
pub fn decode_into(
    path: &Path,
    limits: &Limits,
    waveform: &mut Waveform,
) -> Result<Source, DecodeError> {
    let mut bytes = Vec::new();
    read(path, limits, &mut bytes)?;
    decode_read(path, limits, &bytes, waveform)
}

/// Reads the file at `path` into `bytes`, whose memory is reused.
pub(crate) fn read(path: &Path, limits: &Limits, bytes: &mut Vec<u8>) -> Result<(), DecodeError> {
    whole::read(path, limits, bytes).map_err(|fault| DecodeError {
        path: path.to_owned(),
        fault,
    })
}

/// Decodes what was read from the file at `path`.
pub(crate) fn decode_read(
    path: &Path,
    limits: &Limits,
    bytes: &[u8],
    waveform: &mut Waveform,
) -> Result<Source, DecodeError> {
    decode_bytes_into(bytes, limits, waveform).map_err(|fault| DecodeError {
        path: path.to_owned(),
        fault,
    })
}

/// Refuses a WAV file whose header alone says that it is too long. What else is
/// wrong with it shows when all of it is there.
fn refuse_long_wav(head: &[u8], file_length: u64, limits: &Limits) -> Result<(), Fault> {
    match sniff::container(head) {
        Ok(Container::Wav) => wav::refuse_long(head, file_length, limits),
        _ => Ok(()),
    }
}

/// Decodes the bytes of a file to mono at its own rate.
pub fn decode_bytes(bytes: &[u8], limits: &Limits) -> Result<Decoded, Fault> {
    let mut waveform = Waveform::default();
    let source = decode_bytes_into(bytes, limits, &mut waveform)?;
    Ok(Decoded { waveform, source })
}

fn decode_bytes_into(
    bytes: &[u8],
    limits: &Limits,
    waveform: &mut Waveform,
) -> Result<Source, Fault> {
    let source = match sniff::container(bytes)? {
        Container::Wav => wav::decode_into(bytes, limits, waveform)?,
        Container::Compressed(name) => {
            let decoded = compressed::decode(bytes, name, limits)?;
            *waveform = decoded.waveform;
            decoded.source
        }
    };
    checked(waveform)?;
    Ok(source)
}

/// Refuses a waveform without samples, or with some that are not numbers.
fn checked(waveform: &Waveform) -> Result<(), Fault> {
    if waveform.is_empty() {
        return Err(Fault::NoSamples);
    }
    match first_not_finite(&waveform.samples) {
        Some((at, &value)) => Err(Fault::NotFinite {
            at: Samples(at),
            value,
        }),
        None => Ok(()),
    }
}

/// Returns a sample rate from a header, once it is checked.
fn rate_of(hz: u32) -> Result<SampleRate, Fault> {
    SampleRate::new(hz)
        .filter(|rate| RATES.contains(&rate.hz()))
        .ok_or_else(|| Fault::LyingHeader {
            what: format!(
                "it declares a sample rate of {hz} Hz, but supported rates are {} to {} Hz",
                RATES.start(),
                RATES.end()
            ),
        })
}

/// Returns the first NaN or infinity. A maximum over blocks of bit patterns is
/// branch-free and vectorises; the search runs only when there is one.
fn first_not_finite(samples: &[f32]) -> Option<(usize, &f32)> {
    const EXPONENT: u32 = 0x7f80_0000;
    let worst = samples
        .iter()
        .fold(0, |worst, x| worst.max(x.to_bits() & EXPONENT));
    if worst < EXPONENT {
        return None;
    }
    samples.iter().enumerate().find(|(_, x)| !x.is_finite())
}
