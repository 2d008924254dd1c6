//! MP3, by an encoder without C.

use myxtts_audio::units::SampleRate;
use rusty_mp3::{Mp3Encoder, Mp3EncoderConfig};

use super::{EncodeError, Kind};

/// Kilobits a second. The wide-band PESQ of speech is 4.6 at this rate, and 4.4
/// at 64 (`benchmarks/speech_formats.md`).
const BITS: u32 = 96;

/// The rate at which speech of 24 kHz is encoded.
const ABOVE: SampleRate = match SampleRate::new(32_000) {
    Some(rate) => rate,
    None => SampleRate::XTTS,
};

/// Returns the sample rate of the MP3, where the model speaks at `spoken`. FFmpeg,
/// which many players have inside, reads MP3 at 24 kHz with a different table of
/// bands than encoders, LAME among them, write it with
/// (`benchmarks/speech_formats.md`). Such speech goes up to 32 kHz, where all agree.
pub(super) fn rate(spoken: SampleRate) -> SampleRate {
    match spoken == SampleRate::VOCODER {
        true => ABOVE,
        false => spoken,
    }
}

pub(super) struct Mp3 {
    encoder: Mp3Encoder,
    rate: SampleRate,
    streamed: bool,
    /// Whether the first frame is still to come. It describes the whole file
    /// (length, delays), so a stream is sent without it.
    has_tag: bool,
}

impl Mp3 {
    pub(super) fn new(rate: SampleRate, streamed: bool) -> Self {
        let config = Mp3EncoderConfig {
            bitrate_kbps: BITS,
            vbr_quality: None,
        };
        Self {
            encoder: Mp3Encoder::new(config),
            rate,
            streamed,
            has_tag: true,
        }
    }

    fn frames(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        while let Ok(frame) = self.encoder.next_packet() {
            let is_tag = std::mem::take(&mut self.has_tag);
            if !(is_tag && self.streamed) {
                bytes.extend(frame);
            }
        }
        bytes
    }
}

impl Kind for Mp3 {
    fn push(&mut self, samples: &[f32]) -> Result<Vec<u8>, EncodeError> {
        self.encoder.push_pcm_f32(samples, 1, self.rate.hz())?;
        Ok(match self.streamed {
            true => self.frames(),
            // The first frame is filled in at the end.
            false => Vec::new(),
        })
    }

    fn finish(mut self: Box<Self>) -> Result<Vec<u8>, EncodeError> {
        self.encoder.finish();
        Ok(self.frames())
    }
}
