//! The WAV fast path: header checks, then one straight pass over the bytes.

mod header;
mod pcm;

use std::ops::Range;

use super::{Fault, Limits, Source};
use crate::units::{Samples, Seconds};
use crate::waveform::Waveform;

/// Decodes a WAV file to mono, replacing `out`.
pub(super) fn decode_into(
    bytes: &[u8],
    limits: &Limits,
    out: &mut Waveform,
) -> Result<Source, Fault> {
    let header = header::parse(bytes)?;
    limits.check(header.samples, header.rate)?;
    let channels = usize::from(header.channels);
    pcm::mono(header.encoding, channels, header.data, &mut out.samples);
    out.rate = header.rate;
    Ok(Source {
        channels: header.channels,
        rate: header.rate,
        samples: Samples(out.samples.len()),
    })
}

/// Refuses a file of `file_length` bytes whose beginning states a recording that
/// is too long.
pub(super) fn refuse_long(head: &[u8], file_length: u64, limits: &Limits) -> Result<(), Fault> {
    match header::declared(head, file_length) {
        Some((samples, rate)) => limits.check(samples, rate),
        None => Ok(()),
    }
}

/// Returns where the data of a file begins, and the bytes of it that `most`
/// takes; `None` where the beginning of the file does not say.
pub(super) fn beginning(head: &[u8], file_length: u64, most: Seconds) -> Option<Range<u64>> {
    header::beginning(head, file_length, most)
}

/// Decodes the beginning of a WAV file of `file_length` bytes to mono, replacing
/// `out`. `bytes` hold as much of the file as [`beginning`] says. Also says
/// whether that is all of it.
pub(super) fn decode_beginning(
    bytes: &[u8],
    file_length: u64,
    most: Seconds,
    out: &mut Waveform,
) -> Result<(Source, bool), Fault> {
    let (header, is_whole) = header::parse_beginning(bytes, file_length, most)?;
    let channels = usize::from(header.channels);
    pcm::mono(header.encoding, channels, header.data, &mut out.samples);
    out.rate = header.rate;
    let source = Source {
        channels: header.channels,
        rate: header.rate,
        samples: Samples(out.samples.len()),
    };
    Ok((source, is_whole))
}
