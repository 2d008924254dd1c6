//! Opus in Ogg, by an encoder without C.

use myxtts_audio::units::SampleRate;
use opus_pure::{Application, MAX_PACKET_BYTES, OggOpusWriter, OpusEncoder, OpusHead};

use super::{EncodeError, Kind};

/// The bit rate, in bits a second: full-band speech, with room to spare.
const RATE: i32 = 48_000;

/// Ticks a second of Ogg's clock, whatever the rate of the sound.
const TICKS: u32 = 48_000;

/// The size of a page, in bytes. A page is what a listener gets at a time: this is
/// a sixth of a second, where the usual 4 KiB would be most of one.
const PAGE: usize = 1_024;

pub(super) struct Opus {
    encoder: OpusEncoder,
    ogg: OggOpusWriter<Vec<u8>>,
    /// The length of a packet, in samples: 20 ms.
    packet: usize,
    /// Samples of the packet that is not full yet.
    held: Vec<f32>,
    /// Ticks of Ogg's clock per sample.
    ticks: usize,
    /// How far the encoder is behind, in ticks.
    skip: usize,
    /// The number of samples that came in.
    heard: usize,
}

impl Opus {
    pub(super) fn new(rate: SampleRate) -> Result<Self, EncodeError> {
        let hz = i32::try_from(rate.hz())?;
        let mut encoder = OpusEncoder::new(hz, 1, Application::Audio)?;
        encoder.bitrate_bps = RATE;
        let head = OpusHead::for_encoder(&encoder, rate.hz());
        let skip = usize::from(head.pre_skip);
        let mut ogg = OggOpusWriter::new(Vec::new(), head)?;
        ogg.set_page_target(PAGE);
        Ok(Self {
            encoder,
            ogg,
            packet: rate.hz() as usize / 50,
            held: Vec::new(),
            ticks: (TICKS / rate.hz()) as usize,
            skip,
            heard: 0,
        })
    }

    fn encode(&mut self, samples: &[f32]) -> Result<Vec<u8>, EncodeError> {
        let mut packet = vec![0; MAX_PACKET_BYTES];
        let size = self.encoder.encode(samples, samples.len(), &mut packet)?;
        packet.truncate(size);
        Ok(packet)
    }

    /// Takes out the pages that are full.
    fn pages(&mut self) -> Vec<u8> {
        self.ogg.get_mut().map(std::mem::take).unwrap_or_default()
    }
}

impl Kind for Opus {
    fn push(&mut self, samples: &[f32]) -> Result<Vec<u8>, EncodeError> {
        self.heard += samples.len();
        self.held.extend_from_slice(samples);
        // The last packet says where the sound ends, so one is always kept.
        let full = self.held.len().saturating_sub(1) / self.packet * self.packet;
        let rest = self.held.split_off(full);
        let whole = std::mem::replace(&mut self.held, rest);
        for samples in whole.chunks(self.packet) {
            let packet = self.encode(samples)?;
            self.ogg.write_packet(&packet)?;
        }
        Ok(self.pages())
    }

    /// Ends the stream. Silence pushes out what the encoder still holds; the time of
    /// the last page says where the sound ended, so that nobody hears the silence.
    fn finish(mut self: Box<Self>) -> Result<Vec<u8>, EncodeError> {
        let end = self.skip + self.heard * self.ticks;
        let rest = self.held.len() + self.skip.div_ceil(self.ticks);
        let mut held = std::mem::take(&mut self.held);
        held.resize(rest.next_multiple_of(self.packet), 0.0);
        for samples in held.chunks(self.packet) {
            let packet = self.encode(samples)?;
            let before = usize::try_from(self.ogg.granule())?;
            let ticks = (self.packet * self.ticks).min(end.saturating_sub(before));
            let ticks = u32::try_from(ticks)?;
            self.ogg.write_packet_with_duration(&packet, ticks)?;
        }
        Ok(self.ogg.finish()?)
    }
}
