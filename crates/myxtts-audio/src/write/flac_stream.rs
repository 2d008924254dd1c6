//! FLAC that is sent while it is made: its length is not known when its first
//! bytes are sent.

use flacenc::bitsink::ByteSink;
use flacenc::component::{BitRepr, Stream, StreamInfo};
use flacenc::config::Encoder;
use flacenc::error::{Verified, Verify};
use flacenc::source::{Fill, FrameBuf};

use super::FlacError;
use crate::cast;
use crate::units::SampleRate;

/// An encoder of 16-bit FLAC of unknown length, a frame at a time.
pub struct FlacStream {
    config: Verified<Encoder>,
    info: StreamInfo,
    /// Samples of a frame that is not full yet.
    held: Vec<i32>,
    frames: usize,
}

impl FlacStream {
    /// Starts a stream, and returns it with its first bytes.
    ///
    /// # Errors
    /// The reason the encoder gives: a rate it does not support.
    pub fn new(rate: SampleRate) -> Result<(Self, Vec<u8>), FlacError> {
        let config = Encoder::default().into_verified();
        let config = config.map_err(|(_, why)| FlacError::new(why))?;
        let hz = usize::try_from(rate.hz()).map_err(FlacError::new)?;
        let mut info = StreamInfo::new(hz, 1, 16).map_err(FlacError::new)?;
        info.set_block_sizes(config.block_size, config.block_size)
            .map_err(FlacError::new)?;
        // Frame sizes, number of samples and checksum stay 0, which means unknown.
        info.set_frame_sizes(0, 0).map_err(FlacError::new)?;
        let mut sink = ByteSink::new();
        let start = Stream::with_stream_info(info.clone());
        start.write(&mut sink).map_err(FlacError::new)?;
        let stream = Self {
            config,
            info,
            held: Vec::new(),
            frames: 0,
        };
        Ok((stream, sink.into_inner()))
    }

    /// Encodes the frames that these samples complete.
    ///
    /// # Errors
    /// The reason the encoder gives.
    pub fn push(&mut self, samples: &[f32]) -> Result<Vec<u8>, FlacError> {
        let samples = samples.iter().map(|&x| i32::from(cast::to_pcm16(x)));
        self.held.extend(samples);
        let full = self.held.len() / self.config.block_size * self.config.block_size;
        let rest = self.held.split_off(full);
        let whole = std::mem::replace(&mut self.held, rest);
        self.frames(&whole)
    }

    /// Encodes the last frame, which may be shorter.
    ///
    /// # Errors
    /// The reason the encoder gives.
    pub fn finish(mut self) -> Result<Vec<u8>, FlacError> {
        let held = std::mem::take(&mut self.held);
        self.frames(&held)
    }

    fn frames(&mut self, samples: &[i32]) -> Result<Vec<u8>, FlacError> {
        let mut sink = ByteSink::new();
        // A buffer has a smallest size; the frame is as much of it as is filled.
        let size = self.config.block_size;
        for block in samples.chunks(size) {
            let mut buffer = FrameBuf::with_size(1, size).map_err(FlacError::new)?;
            buffer.fill_interleaved(block).map_err(FlacError::new)?;
            let frame =
                flacenc::encode_fixed_size_frame(&self.config, &buffer, self.frames, &self.info)
                    .map_err(FlacError::new)?;
            frame.write(&mut sink).map_err(FlacError::new)?;
            self.frames += 1;
        }
        Ok(sink.into_inner())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::{Limits, decode_bytes};
    use crate::waveform::Waveform;
    use crate::write::wav_pcm16;

    fn waveform(length: u16) -> Waveform {
        let samples = (0..length).map(|n| (f32::from(n) * 0.05).sin() * 1.1);
        Waveform {
            samples: samples.collect(),
            rate: SampleRate::VOCODER,
        }
    }

    #[test]
    fn a_flac_stream_holds_what_a_wav_file_holds() {
        for length in [1, 16, 17, 4_095, 4_096, 4_097, 4_100, 30_000] {
            let waveform = waveform(length);
            let file = wav_pcm16(&waveform).unwrap();
            let expected = decode_bytes(&file, &Limits::default()).unwrap();
            for part in [1_000, 4_096, 40_000] {
                let (mut stream, mut bytes) = FlacStream::new(waveform.rate).unwrap();
                for part in waveform.samples.chunks(part) {
                    bytes.extend(stream.push(part).unwrap());
                }
                bytes.extend(stream.finish().unwrap());
                let heard = decode_bytes(&bytes, &Limits::default()).unwrap();
                assert_eq!(heard, expected, "{length} in {part}s");
            }
        }
    }
}
