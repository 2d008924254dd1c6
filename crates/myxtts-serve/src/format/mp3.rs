//! MP3, by an encoder without C.

use myxtts_audio::units::SampleRate;
use rusty_mp3::{Mp3Encoder, Mp3EncoderConfig};

use super::Kind;

/// Kilobits a second: what speech at these rates needs, with room.
const RATE: u32 = 64;

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
            bitrate_kbps: RATE,
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
    fn push(&mut self, samples: &[f32]) -> Result<Vec<u8>, String> {
        self.encoder
            .push_pcm_f32(samples, 1, self.rate.hz())
            .map_err(|why| why.to_string())?;
        Ok(match self.streamed {
            true => self.frames(),
            // The first frame is filled in at the end.
            false => Vec::new(),
        })
    }

    fn finish(mut self: Box<Self>) -> Result<Vec<u8>, String> {
        self.encoder.finish();
        Ok(self.frames())
    }
}
