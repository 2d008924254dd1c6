//! WAV files by hand, so that every field can be wrong.
#![allow(dead_code, reason = "each test file uses its own part of this")]

use std::path::{Path, PathBuf};

pub const PCM: u16 = 1;
pub const FLOAT: u16 = 3;
pub const EXTENSIBLE: u16 = 0xfffe;

/// The fields of a WAV file, before any of them is made wrong.
#[derive(Clone, Debug)]
pub struct Wav {
    pub tag: u16,
    pub channels: u16,
    pub rate: u32,
    pub bits: u16,
    pub block_align: u16,
    pub data: Vec<u8>,
    /// What the data chunk says its size is.
    pub data_size: u32,
    /// Chunks between `fmt ` and `data`, ready made.
    pub extra: Vec<u8>,
    /// What follows the 16 bytes of the `fmt ` chunk.
    pub format_tail: Vec<u8>,
}

impl Wav {
    pub fn new(tag: u16, bits: u16, channels: u16, data: Vec<u8>) -> Self {
        Self {
            tag,
            channels,
            rate: 22_050,
            bits,
            block_align: channels * (bits / 8),
            data_size: u32::try_from(data.len()).unwrap(),
            data,
            extra: Vec::new(),
            format_tail: Vec::new(),
        }
    }

    /// Sixteen-bit mono of `count` samples.
    pub fn tone(count: usize) -> Self {
        let samples = (0..count).map(|n| ((n as f64 * 0.1).sin() * 10_000.0) as i16);
        Self::new(PCM, 16, 1, samples.flat_map(i16::to_le_bytes).collect())
    }

    /// The same audio under `WAVE_FORMAT_EXTENSIBLE`.
    pub fn extensible(mut self) -> Self {
        self.format_tail = [
            &22_u16.to_le_bytes()[..],
            &self.bits.to_le_bytes(),
            &0_u32.to_le_bytes(),
        ]
        .concat();
        self.format_tail.extend(self.tag.to_le_bytes());
        self.format_tail
            .extend([0, 0, 0, 0, 0x10, 0, 0x80, 0, 0, 0xaa, 0, 0x38, 0x9b, 0x71]);
        self.tag = EXTENSIBLE;
        self
    }

    /// The `fmt ` chunk.
    pub fn format(&self) -> Vec<u8> {
        let byte_rate = self.rate.wrapping_mul(u32::from(self.block_align));
        let fields = [
            &self.tag.to_le_bytes()[..],
            &self.channels.to_le_bytes(),
            &self.rate.to_le_bytes(),
            &byte_rate.to_le_bytes(),
            &self.block_align.to_le_bytes(),
            &self.bits.to_le_bytes(),
            &self.format_tail,
        ];
        chunk(b"fmt ", &fields.concat())
    }

    /// The file. Its RIFF size agrees with the data size it states.
    pub fn bytes(&self) -> Vec<u8> {
        let (format, header) = (self.format(), 4 + 8);
        let size = (header + format.len() + self.extra.len()) as u32;
        let parts = [
            b"RIFF",
            &size.wrapping_add(self.data_size).to_le_bytes()[..],
            b"WAVE",
            &format,
            &self.extra,
            b"data",
            &self.data_size.to_le_bytes(),
            &self.data,
        ];
        parts.concat()
    }
}

/// A chunk with its padding byte.
pub fn chunk(id: &[u8; 4], body: &[u8]) -> Vec<u8> {
    let size = u32::try_from(body.len()).unwrap();
    let mut chunk = [&id[..], &size.to_le_bytes(), body].concat();
    if body.len() % 2 == 1 {
        chunk.push(0);
    }
    chunk
}

/// Recordings made by other programs; see `make.py` there.
pub fn recording(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name)
}

/// What the recordings hold, as 16-bit values: the voices of `make.py`.
pub fn voices() -> (Vec<f32>, Vec<f32>) {
    let voice = |amplitude: f64, hz: f64| {
        (0_u32..8_820)
            .map(|n| {
                let turn = std::f64::consts::TAU * hz * f64::from(n) / 22_050.0;
                ((amplitude * turn.sin()).round() / 32_768.0) as f32
            })
            .collect()
    };
    (voice(12_000.0, 440.0), voice(6_000.0, 1_000.0))
}
