//! The chunks of a RIFF, RF64 or BW64 file.
//!
//! Everything that well-meaning writers produce is accepted: chunks in any order
//! after `fmt `, unknown chunks, odd chunks with or without their padding byte,
//! `WAVE_FORMAT_EXTENSIBLE`, 64-bit sizes, and the size `0xffffffff` that a
//! program writes when it streams and cannot know the length. Everything a header
//! states is checked against the rest of it and against the file:
//!
//! - the data chunk runs past the end of the file, and the RIFF size agrees that
//!   the file was longer: the file was cut ([`Fault::Truncated`]);
//! - it runs past the end, and the RIFF size says the file is whole: the data
//!   chunk lies ([`Fault::LyingHeader`]).

use std::ops::Range;

use super::pcm::Encoding;
use crate::decode::{Fault, rate_of};
use crate::units::{SampleRate, Samples, Seconds};

/// A size written by a program that could not know it.
const UNKNOWN_SIZE: u32 = u32::MAX;
/// More channels than any recording has; a header beyond this is noise.
const MOST_CHANNELS: u16 = 64;

const PCM: u16 = 1;
const IEEE_FLOAT: u16 = 3;
const EXTENSIBLE: u16 = 0xfffe;
/// The tail of every sub-format GUID whose first two bytes are a format tag.
const SUBFORMAT_TAIL: [u8; 14] = [0, 0, 0, 0, 0x10, 0, 0x80, 0, 0, 0xaa, 0, 0x38, 0x9b, 0x71];

/// A header that agrees with itself and with the file.
#[derive(Debug)]
pub(super) struct Header<'a> {
    pub(super) encoding: Encoding,
    pub(super) channels: u16,
    pub(super) rate: SampleRate,
    /// The number of samples per channel.
    pub(super) samples: Samples,
    /// The bytes of exactly `samples` frames of `channels` values.
    pub(super) data: &'a [u8],
}

/// The fields of the `fmt ` chunk, checked.
#[derive(Clone, Copy, Debug)]
struct Format {
    encoding: Encoding,
    channels: u16,
    rate: SampleRate,
}

impl Format {
    /// Returns the bytes of one sample of every channel, at most 64 channels of 8 bytes.
    fn frame(&self) -> usize {
        usize::from(self.channels) * self.encoding.bytes()
    }
}

/// Where the data chunk is, and what the header states about it.
#[derive(Clone, Copy, Debug)]
struct Found {
    format: Format,
    /// Where the bytes of the chunk start.
    body: usize,
    /// How many bytes there are; `None` where the writer could not know.
    size: Option<u64>,
    riff_size: Option<u64>,
}

/// Finds and checks the format and the data of a file that starts with a WAVE header.
pub(super) fn parse(bytes: &[u8]) -> Result<Header<'_>, Fault> {
    data(bytes, find(bytes)?)
}

/// Returns the length and rate of a file of which only the beginning is here, as
/// far as it states them: never more than a file of `file_length` bytes can hold.
pub(super) fn declared(head: &[u8], file_length: u64) -> Option<(Samples, SampleRate)> {
    let found = find(head).ok()?;
    let present = file_length.saturating_sub(found.body as u64);
    let size = found.size.map_or(present, |size| size.min(present));
    let samples = usize::try_from(size / found.format.frame() as u64).ok()?;
    Some((Samples(samples), found.format.rate))
}

/// Returns where the data of a file begins and how much of it `most` takes, as
/// far as the beginning of a file of `file_length` bytes says.
pub(super) fn beginning(head: &[u8], file_length: u64, most: Seconds) -> Option<Range<u64>> {
    let found = find(head).ok()?;
    let start = found.body as u64;
    let present = file_length.saturating_sub(start);
    let frames = Samples::in_time(most, found.format.rate).0 as u64;
    let wanted = frames.saturating_mul(found.format.frame() as u64);
    Some(start..start + found.size.unwrap_or(present).min(present).min(wanted))
}

/// Like [`parse`], for a file of which only the beginning is wanted and here.
/// Also says whether that is all of it. What is wrong with the end of a longer
/// file is not looked for.
pub(super) fn parse_beginning(
    bytes: &[u8],
    file_length: u64,
    most: Seconds,
) -> Result<(Header<'_>, bool), Fault> {
    let found = find(bytes)?;
    let Format {
        encoding,
        channels,
        rate,
    } = found.format;
    let frame = found.format.frame();
    let wanted = Samples::in_time(most, rate).0.saturating_mul(frame);
    let present = file_length.saturating_sub(found.body as u64);
    let size = found.size.unwrap_or(present).min(present);
    if size <= wanted as u64 && file_length == bytes.len() as u64 {
        return Ok((data(bytes, found)?, true));
    }
    let present = bytes.get(found.body..).unwrap_or_default();
    let data = &present[..present.len().min(wanted) / frame * frame];
    let header = Header {
        encoding,
        channels,
        rate,
        samples: Samples(data.len() / frame),
        data,
    };
    Ok((header, size <= wanted as u64))
}

fn find(bytes: &[u8]) -> Result<Found, Fault> {
    let riff = u32_at(bytes, 4).unwrap_or(UNKNOWN_SIZE);
    let mut riff_size = (riff != UNKNOWN_SIZE).then(|| u64::from(riff));
    let mut wide_data = None;
    let mut format = None;
    let mut at = 12;
    while let (Some(id), Some(size)) = (bytes.get(at..at + 4), u32_at(bytes, at + 4)) {
        let body = at + 8;
        match id {
            b"ds64" => {
                riff_size = u64_at(bytes, body);
                wide_data = u64_at(bytes, body + 8);
            }
            b"fmt " => {
                let length = usize::try_from(size).unwrap_or(usize::MAX);
                let Some(chunk) = bytes.get(body..body.saturating_add(length)) else {
                    return Err(Fault::Truncated {
                        decoded: Samples(0),
                        declared: None,
                    });
                };
                format = Some(self::format(chunk)?);
            }
            b"data" => {
                let format = format.ok_or_else(|| lying("its data comes before its fmt chunk"))?;
                let size = match (size, wide_data) {
                    (UNKNOWN_SIZE, None) => None,
                    (UNKNOWN_SIZE, Some(wide)) => Some(wide),
                    (size, _) => Some(u64::from(size)),
                };
                return Ok(Found {
                    format,
                    body,
                    size,
                    riff_size,
                });
            }
            _ => {}
        }
        let Some(next) = next_chunk(bytes, body, size) else {
            break;
        };
        at = next;
    }
    match format {
        None => Err(Fault::LyingHeader {
            what: "it has no fmt chunk".to_owned(),
        }),
        Some(_) => Err(Fault::Truncated {
            decoded: Samples(0),
            declared: None,
        }),
    }
}

/// Checks the data chunk and cuts it out.
fn data(bytes: &[u8], found: Found) -> Result<Header<'_>, Fault> {
    let Found {
        format,
        body,
        size,
        riff_size,
    } = found;
    let present = bytes.get(body..).unwrap_or_default();
    let size = size.unwrap_or(present.len() as u64);
    let frame = format.frame();
    let declared = usize::try_from(size / frame as u64).unwrap_or(usize::MAX);
    let Some(data) = usize::try_from(size)
        .ok()
        .and_then(|size| present.get(..size))
    else {
        let file = bytes.len() as u64;
        if riff_size.is_some_and(|riff| riff.saturating_add(8) <= file) {
            return Err(lying(format!(
                "its data chunk of {size} bytes is longer than the file, which ends {} bytes into it",
                present.len()
            )));
        }
        return Err(Fault::Truncated {
            decoded: Samples(present.len() / frame),
            declared: Some(Samples(declared)),
        });
    };
    if data.is_empty() && !present.is_empty() && riff_size.is_none_or(|riff| riff <= 36) {
        return Err(lying(format!(
            "its sizes are 0, but {} bytes of audio follow them; the writer never finished",
            present.len()
        )));
    }
    if !data.len().is_multiple_of(frame) {
        return Err(lying(format!(
            "its data chunk of {} bytes is not a whole number of {frame}-byte frames",
            data.len()
        )));
    }
    Ok(Header {
        encoding: format.encoding,
        channels: format.channels,
        rate: format.rate,
        samples: Samples(data.len() / frame),
        data,
    })
}

/// Reads and checks a `fmt ` chunk.
fn format(chunk: &[u8]) -> Result<Format, Fault> {
    let fields = (
        u16_at(chunk, 0),
        u16_at(chunk, 2),
        u32_at(chunk, 4),
        u16_at(chunk, 12),
        u16_at(chunk, 14),
    );
    let (Some(tag), Some(channels), Some(hz), Some(block_align), Some(bits)) = fields else {
        return Err(lying(format!(
            "its fmt chunk has {} bytes, but 16 are needed",
            chunk.len()
        )));
    };
    let tag = if tag == EXTENSIBLE {
        sub_format(chunk)?
    } else {
        tag
    };
    let encoding = match (tag, bits) {
        (PCM, 8) => Encoding::U8,
        (PCM, 16) => Encoding::I16,
        (PCM, 24) => Encoding::I24,
        (PCM, 32) => Encoding::I32,
        (IEEE_FLOAT, 32) => Encoding::F32,
        (IEEE_FLOAT, 64) => Encoding::F64,
        (PCM, bits) => return Err(unsupported(format!("{bits}-bit integer WAV"))),
        (IEEE_FLOAT, bits) => return Err(unsupported(format!("{bits}-bit float WAV"))),
        (tag, _) => return Err(unsupported(format!("WAV with {}", codec_name(tag)))),
    };
    if channels == 0 || channels > MOST_CHANNELS {
        return Err(lying(format!("it declares {channels} channels")));
    }
    let format = Format {
        encoding,
        channels,
        rate: rate_of(hz)?,
    };
    if usize::from(block_align) != format.frame() {
        return Err(lying(format!(
            "it declares {block_align} bytes per frame, but {channels} x {bits} bits make {}",
            format.frame()
        )));
    }
    Ok(format)
}

/// Returns the format tag inside an extensible `fmt ` chunk.
fn sub_format(chunk: &[u8]) -> Result<u16, Fault> {
    match (u16_at(chunk, 24), chunk.get(26..40)) {
        (Some(tag), Some(tail)) if tail == SUBFORMAT_TAIL => Ok(tag),
        (Some(_), Some(_)) => Err(unsupported("WAV with a private sub-format")),
        _ => Err(lying(format!(
            "its extensible fmt chunk has {} bytes, but 40 are needed",
            chunk.len()
        ))),
    }
}

/// Returns where the chunk after `body..body + size` starts. Chunks are padded to
/// an even length, but some writers forget: if the padded place does not hold a
/// chunk name and the unpadded one does, the unpadded one is taken.
fn next_chunk(bytes: &[u8], body: usize, size: u32) -> Option<usize> {
    let end = body.checked_add(usize::try_from(size).ok()?)?;
    let padded = end.checked_add(end.checked_sub(body)? % 2)?;
    let named = |at: usize| {
        bytes
            .get(at..at.saturating_add(4))
            .is_some_and(|id| id.iter().all(|b| (b' '..=b'~').contains(b)))
    };
    Some(if padded != end && !named(padded) && named(end) {
        end
    } else {
        padded
    })
}

fn codec_name(tag: u16) -> String {
    match tag {
        0x0002 => "Microsoft ADPCM".to_owned(),
        0x0006 => "A-law".to_owned(),
        0x0007 => "mu-law".to_owned(),
        0x0011 => "IMA ADPCM".to_owned(),
        0x0055 => "MP3 inside".to_owned(),
        tag => format!("format tag 0x{tag:04x}"),
    }
}

fn lying(what: impl Into<String>) -> Fault {
    Fault::LyingHeader { what: what.into() }
}

fn unsupported(what: impl Into<String>) -> Fault {
    Fault::Unsupported { what: what.into() }
}

fn array_at<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    array_at(bytes, at).map(u16::from_le_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    array_at(bytes, at).map(u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    array_at(bytes, at).map(u64::from_le_bytes)
}
