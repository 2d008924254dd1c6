//! The WAV fast path: header checks, then one straight pass over the mapping.

mod header;
mod pcm;

use super::{Decoded, Fault, Limits, Source};
use crate::units::Samples;
use crate::waveform::Waveform;

/// Decodes a WAV file to mono.
pub(super) fn decode(bytes: &[u8], limits: &Limits) -> Result<Decoded, Fault> {
    let header = header::parse(bytes)?;
    limits.check(header.samples, header.rate)?;
    let samples = pcm::mono(header.encoding, usize::from(header.channels), header.data);
    Ok(Decoded {
        source: Source {
            channels: header.channels,
            rate: header.rate,
            samples: Samples(samples.len()),
        },
        waveform: Waveform {
            samples,
            rate: header.rate,
        },
    })
}
