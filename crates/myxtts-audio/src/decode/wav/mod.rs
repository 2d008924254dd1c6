//! The WAV fast path: header checks, then one straight pass over the bytes.

mod header;
mod pcm;

use super::{Fault, Limits, Source};
use crate::units::Samples;
use crate::waveform::Waveform;

/// Replaces `out` by a WAV file as mono.
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

/// Refuses a file of `file_length` bytes whose beginning states a recording
/// that is too long.
pub(super) fn refuse_long(head: &[u8], file_length: u64, limits: &Limits) -> Result<(), Fault> {
    match header::declared(head, file_length) {
        Some((samples, rate)) => limits.check(samples, rate),
        None => Ok(()),
    }
}
