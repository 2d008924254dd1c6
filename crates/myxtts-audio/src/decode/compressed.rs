//! FLAC, MP3, OGG/Vorbis and M4A/AAC through `symphonia`.
//!
//! The usual loop around it skips packets that do not decode, and stops quietly
//! where the file does. Here both are errors, because a clip with a hole in it
//! teaches a model to skip words.
//!
//! Whether a file is whole is known only as far as its format says so: FLAC and
//! M4A state their length, MP3 states it when the encoder left an Info tag, and
//! OGG marks its last page. For a bare MP3 or ADTS stream nobody can tell.

use std::io::{Cursor, ErrorKind};
use std::panic::{AssertUnwindSafe, catch_unwind};

use symphonia::core::codecs::CodecParameters;
use symphonia::core::codecs::audio::{AudioCodecParameters, AudioDecoderOptions};
use symphonia::core::errors::Error;
use symphonia::core::formats::probe::Hint;
use symphonia::core::formats::{FormatOptions, FormatReader, Track, TrackType};
use symphonia::core::io::{MediaSource, MediaSourceStream, MediaSourceStreamOptions};
use symphonia::core::meta::MetadataOptions;
use symphonia::core::packet::Packet;

use super::{Decoded, Fault, Limits, Source, rate_of};
use crate::units::{SampleRate, Samples, Seconds};
use crate::waveform::Waveform;

/// Decodes a compressed file to mono.
///
/// `symphonia` is careful, but it is a lot of parsing code that we do not control
/// and that reads whatever lies in a dataset. A panic inside it becomes an error
/// of that file; nothing of ours is shared with it, so nothing can be left half changed.
pub(super) fn decode(bytes: &[u8], name: &'static str, limits: &Limits) -> Result<Decoded, Fault> {
    if name == "M4A" && !mp4_has_index(bytes) {
        return Err(Fault::Truncated {
            decoded: Samples(0),
            declared: None,
        });
    }
    let part = Part::Whole(limits);
    let (decoded, _) = guarded(Box::new(Cursor::new(bytes)), name, part)?;
    if name == "OGG" && !ogg_is_closed(bytes) {
        return Err(Fault::Truncated {
            decoded: decoded.source.samples,
            declared: None,
        });
    }
    Ok(decoded)
}

/// Decodes the beginning of a compressed file to mono, and says whether that was
/// all of it. Nothing after it is read.
pub(super) fn decode_beginning(
    file: Box<dyn MediaSource + '_>,
    name: &'static str,
    most: Seconds,
) -> Result<(Decoded, bool), Fault> {
    guarded(file, name, Part::Beginning(most))
}

/// How much of a file is wanted.
#[derive(Clone, Copy)]
enum Part<'l> {
    /// All of it; a longer file is refused.
    Whole(&'l Limits),
    /// The first part of it, of this duration.
    Beginning(Seconds),
}

impl Part<'_> {
    fn check(self, length: Samples, rate: SampleRate) -> Result<(), Fault> {
        match self {
            Self::Whole(limits) => limits.check(length, rate),
            Self::Beginning(_) => Ok(()),
        }
    }

    /// Returns whether more than is wanted was decoded.
    fn is_full(self, length: Samples, rate: SampleRate) -> bool {
        matches!(self, Self::Beginning(most) if length > Samples::in_time(most, rate))
    }
}

fn guarded(
    file: Box<dyn MediaSource + '_>,
    name: &'static str,
    part: Part<'_>,
) -> Result<(Decoded, bool), Fault> {
    let result = catch_unwind(AssertUnwindSafe(|| decode_packets(file, name, part)));
    result.unwrap_or_else(|_| {
        Err(Fault::Corrupt {
            decoded: Samples(0),
            why: "the decoder gave up on it".to_owned(),
        })
    })
}

fn decode_packets(
    file: Box<dyn MediaSource + '_>,
    name: &'static str,
    part: Part<'_>,
) -> Result<(Decoded, bool), Fault> {
    let mut format = probe(file, name)?;
    let track = format
        .default_track(TrackType::Audio)
        .ok_or_else(|| Fault::NotAudio {
            found: format!("a {name} container with no audio in it"),
        })?;
    let id = track.id;
    let promise = promised(track);
    let declared = promise.filter(|_| !is_guess(track, name));
    let parameters = audio_parameters(track).ok_or_else(|| Fault::Unsupported {
        what: format!("the codec inside this {name} file"),
    })?;
    if let (Some(length), Some(hz)) = (promise, parameters.sample_rate) {
        part.check(length, rate_of(hz)?)?;
    }
    let mut decoder = symphonia::default::get_codecs()
        .make_audio_decoder(parameters, &AudioDecoderOptions::default())
        .map_err(|error| fault(&error, name, Samples(0), declared))?;

    let mut mix = Mix::default();
    let mut interleaved: Vec<f32> = Vec::new();
    let mut is_whole = true;
    while let Some(packet) = format
        .next_packet()
        .map_err(|error| fault(&error, name, mix.len(), declared))?
    {
        if packet.track_id != id {
            continue;
        }
        if name == "FLAC" {
            no_gap(&packet, mix.len())?;
        }
        let audio = decoder
            .decode(&packet)
            .map_err(|error| fault(&error, name, mix.len(), declared))?;
        let channels = audio.num_planes();
        let rate = rate_of(audio.spec().rate())?;
        audio.copy_to_vec_interleaved(&mut interleaved);
        mix.add(&interleaved, channels, rate)?;
        part.check(mix.len(), rate)?;
        if part.is_full(mix.len(), rate) {
            is_whole = false;
            break;
        }
    }

    let decoded = mix.len();
    if is_whole && declared.is_some_and(|declared| decoded < declared) {
        return Err(Fault::Truncated { decoded, declared });
    }
    Ok((mix.wanted(part)?, is_whole))
}

/// Finds out how a file is packed, and opens it.
fn probe<'f>(
    file: Box<dyn MediaSource + 'f>,
    name: &'static str,
) -> Result<Box<dyn FormatReader + 'f>, Fault> {
    let stream = MediaSourceStream::new(file, MediaSourceStreamOptions::default());
    symphonia::default::get_probe()
        .probe(
            &Hint::new(),
            stream,
            FormatOptions::default(),
            MetadataOptions::default(),
        )
        .map_err(|error| fault(&error, name, Samples(0), None))
}

/// Returns the length that a track states, if it states one.
fn promised(track: &Track) -> Option<Samples> {
    track
        .num_frames
        .map(|frames| Samples(usize::try_from(frames).unwrap_or(usize::MAX)))
}

/// Returns whether a stated length is no more than a guess. That of a bare MP3 is
/// made from its first frames; one with an encoder delay has an Info tag, which counts.
fn is_guess(track: &Track, name: &str) -> bool {
    matches!(name, "MP3") && track.delay.is_none() || matches!(name, "AAC")
}

fn audio_parameters(track: &Track) -> Option<&AudioCodecParameters> {
    track.codec_params.as_ref().and_then(CodecParameters::audio)
}

/// Checks that a FLAC frame is where it states it belongs: the reader steps over
/// damaged frames in silence, and this is where it shows.
fn no_gap(packet: &Packet, decoded: Samples) -> Result<(), Fault> {
    let position = usize::try_from(packet.pts.get()).unwrap_or_default();
    if position == decoded.0 {
        return Ok(());
    }
    let why = format!("the next intact frame belongs to sample {position}");
    Err(Fault::Corrupt { decoded, why })
}

/// The mean of the channels decoded so far.
#[derive(Default)]
struct Mix {
    samples: Vec<f32>,
    /// The channels and rate of every packet; a change midway is an error.
    shape: Option<(usize, SampleRate)>,
}

impl Mix {
    fn len(&self) -> Samples {
        Samples(self.samples.len())
    }

    fn add(&mut self, interleaved: &[f32], channels: usize, rate: SampleRate) -> Result<(), Fault> {
        if channels == 0 {
            return Err(Fault::LyingHeader {
                what: "it declares 0 channels".to_owned(),
            });
        }
        let shape = *self.shape.get_or_insert((channels, rate));
        if shape != (channels, rate) {
            return Err(Fault::Unsupported {
                what: format!(
                    "it changes from {} channels at {} to {channels} at {rate} midway",
                    shape.0, shape.1
                ),
            });
        }
        let share = channels as f32;
        match channels {
            1 => self.samples.extend_from_slice(interleaved),
            _ => self.samples.extend(
                interleaved
                    .chunks_exact(channels)
                    .map(|frame| frame.iter().sum::<f32>() / share),
            ),
        }
        Ok(())
    }

    /// Returns as much of the sound as is wanted.
    fn wanted(mut self, part: Part<'_>) -> Result<Decoded, Fault> {
        let (channels, rate) = self.shape.ok_or(Fault::NoSamples)?;
        if let Part::Beginning(most) = part {
            self.samples.truncate(Samples::in_time(most, rate).0);
        }
        Ok(Decoded {
            source: Source {
                channels: u16::try_from(channels).unwrap_or(u16::MAX),
                rate,
                samples: self.len(),
            },
            waveform: Waveform {
                samples: self.samples,
                rate,
            },
        })
    }
}

/// Returns whether the top-level boxes of an MP4 file include the index of its
/// tracks. Encoders write it last, so a cut file has none.
fn mp4_has_index(mut boxes: &[u8]) -> bool {
    while let [a, b, c, d, kind @ ..] = boxes {
        if kind.starts_with(b"moov") {
            return true;
        }
        let size = match (u32::from_be_bytes([*a, *b, *c, *d]), boxes.get(8..16)) {
            // A 64-bit size follows the name.
            (1, Some(&[a, b, c, d, e, f, g, h])) => u64::from_be_bytes([a, b, c, d, e, f, g, h]),
            (size, _) => u64::from(size),
        };
        // A size of 0 means "to the end"; less than a header would not advance.
        let next = usize::try_from(size).ok().filter(|&size| size >= 8);
        match next.and_then(|size| boxes.get(size..)) {
            Some(rest) => boxes = rest,
            None => return false,
        }
    }
    false
}

/// Returns whether the last OGG page is whole and marked as the last.
fn ogg_is_closed(bytes: &[u8]) -> bool {
    /// The length of the longest page: 27 bytes of header, 255 segments of at
    /// most 255 bytes.
    const LONGEST_PAGE: usize = 27 + 255 + 255 * 255;
    let tail = &bytes[bytes.len().saturating_sub(LONGEST_PAGE)..];
    let page = tail
        .windows(4)
        .rposition(|window| window == b"OggS")
        .map(|at| &tail[at..]);
    let Some((page, flags)) = page.and_then(|page| Some((page, page.get(5)?))) else {
        return false;
    };
    let Some(segments) = page
        .get(26)
        .and_then(|&n| page.get(27..27 + usize::from(n)))
    else {
        return false;
    };
    let body: usize = segments.iter().map(|&length| usize::from(length)).sum();
    flags & 4 != 0 && page.len() >= 27 + segments.len() + body
}

/// Translates a decoder's error into ours.
fn fault(error: &Error, name: &str, decoded: Samples, declared: Option<Samples>) -> Fault {
    match error {
        Error::IoError(error) if error.kind() == ErrorKind::UnexpectedEof => {
            Fault::Truncated { decoded, declared }
        }
        Error::Unsupported(what) => Fault::Unsupported {
            what: format!("{name}, {what}"),
        },
        other => Fault::Corrupt {
            decoded,
            why: other.to_string(),
        },
    }
}
