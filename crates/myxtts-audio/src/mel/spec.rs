//! The constants of the mel front ends.
//!
//! All of them share torchaudio's conventions: power spectrum, periodic window
//! centred in the FFT, frames centred on multiples of the hop with reflected
//! edges, HTK mel scale. They differ only in data, so a front end is a value that
//! a checkpoint can store.

use serde::{Deserialize, Serialize};

use super::MelError;
use super::filter_bank::FilterBank;
use crate::frames::Framing;
use crate::units::{Frames, SampleRate, Samples};

/// The window over each frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Window {
    /// A raised cosine that falls to zero.
    Hann,
    /// A raised cosine that falls to 0.08.
    Hamming,
}

/// How the power in a band is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Compression {
    /// The power is left as it is.
    Power,
    /// The logarithm `ln(max(x, floor))`, with this floor.
    LogFloor(f32),
    /// The logarithm `ln(x + offset)`, with this offset.
    LogOffset(f32),
}

/// The constants of a mel front end.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MelSpec {
    /// The rate of the waveforms it takes.
    pub sample_rate: SampleRate,
    /// The length of the FFT.
    pub n_fft: Samples,
    /// The length of the window, at most `n_fft`; it is centred in the FFT.
    pub win_length: Samples,
    /// The distance between two frames.
    pub hop: Samples,
    /// The window over each frame.
    pub window: Window,
    /// The number of mel bands.
    pub bands: usize,
    /// The lower edge of the lowest band, in Hz.
    pub f_min: f64,
    /// The upper edge of the highest band, in Hz.
    pub f_max: f64,
    /// Whether bands are scaled to equal area (Slaney) instead of equal height.
    pub area_norm: bool,
    /// The factor `a` of `y[t] = x[t] - a x[t - 1]`, applied before everything else.
    pub pre_emphasis: Option<f32>,
    /// How the powers of the bands are compressed.
    pub compression: Compression,
    /// Whether each band is brought to zero mean and unit variance over time.
    pub instance_norm: bool,
}

impl MelSpec {
    /// The mel that the DVAE encodes into codes.
    pub const DVAE: Self = Self {
        sample_rate: SampleRate::XTTS,
        n_fft: Samples(1024),
        win_length: Samples(1024),
        hop: Samples(256),
        window: Window::Hann,
        bands: 80,
        f_min: 0.0,
        f_max: 8000.0,
        area_norm: true,
        pre_emphasis: None,
        compression: Compression::LogFloor(1e-5),
        instance_norm: false,
    };

    /// The mel that the GPT is conditioned on in XTTS v2.
    pub const CONDITIONING: Self = Self {
        n_fft: Samples(2048),
        ..Self::DVAE
    };

    /// The mel that the speaker encoder takes.
    pub const SPEAKER: Self = Self {
        sample_rate: SampleRate::SPEAKER,
        n_fft: Samples(512),
        win_length: Samples(400),
        hop: Samples(160),
        window: Window::Hamming,
        bands: 64,
        f_min: 0.0,
        f_max: 8000.0,
        area_norm: false,
        pre_emphasis: Some(0.97),
        compression: Compression::LogOffset(1e-6),
        instance_norm: true,
    };

    /// Returns the number of frames of a waveform of this length.
    pub fn frames(&self, length: Samples) -> Frames {
        Frames(length.0 / self.hop.0.max(1) + 1)
    }

    /// Returns the length of the shortest waveform whose edges can be reflected.
    pub fn shortest(&self) -> Samples {
        Samples(self.n_fft.0 / 2 + 1)
    }

    /// Returns the filter bank as a matrix of shape (n_fft / 2 + 1, bands),
    /// row-major, for a device that computes bands as a matrix product.
    pub fn dense_filter_bank(&self) -> Vec<f32> {
        let mut dense = vec![0.0; (self.n_fft.0 / 2 + 1) * self.bands];
        for (index, band) in FilterBank::new(self).bands.iter().enumerate() {
            let column = dense.iter_mut().skip(band.start * self.bands + index);
            for (cell, &weight) in column.step_by(self.bands).zip(&band.weights) {
                *cell = weight;
            }
        }
        dense
    }

    /// Returns the window with the zeros that centre it in the FFT, `n_fft` long.
    pub fn padded_window(&self) -> Vec<f32> {
        let framing = Framing::new(self);
        let mut padded = vec![0.0; framing.n_fft];
        padded[framing.left..framing.left + framing.window.len()].copy_from_slice(&framing.window);
        padded
    }

    /// Refuses constants or statistics that no front end can have.
    pub fn check(&self, stats: Option<&[f32]>) -> Result<(), MelError> {
        if let Some(fault) = self.fault() {
            return Err(MelError::Spec(fault));
        }
        let Some(stats) = stats else { return Ok(()) };
        let why = if stats.len() == self.bands {
            let wrong = stats
                .iter()
                .enumerate()
                .find(|(_, x)| !x.is_finite() || **x == 0.0);
            let Some((band, value)) = wrong else {
                return Ok(());
            };
            format!("band {band} is {value}")
        } else {
            format!("there are {}", stats.len())
        };
        Err(MelError::Stats {
            bands: self.bands,
            why,
        })
    }

    /// Returns what is wrong with the constants, if anything is.
    fn fault(&self) -> Option<String> {
        let Samples(n_fft) = self.n_fft;
        let nyquist = f64::from(self.sample_rate.hz() / 2);
        if !(2..=1 << 16).contains(&n_fft) || n_fft % 2 == 1 {
            Some(format!(
                "n_fft is {n_fft}, but it must be an even number from 2 to 65536"
            ))
        } else if self.win_length.0 == 0 || self.win_length.0 > n_fft {
            Some(format!(
                "win_length is {}, but it must be from 1 to n_fft = {n_fft}",
                self.win_length.0
            ))
        } else if self.hop.0 == 0 {
            Some("hop is 0".to_owned())
        } else if self.bands == 0 || self.bands > n_fft {
            Some(format!("{} bands do not fit an FFT of {n_fft}", self.bands))
        } else if !(0.0 <= self.f_min && self.f_min < self.f_max && self.f_max <= nyquist) {
            Some(format!(
                "bands from {} to {} Hz do not fit a rate of {}",
                self.f_min, self.f_max, self.sample_rate
            ))
        } else if let Compression::LogFloor(least) | Compression::LogOffset(least) =
            self.compression
            && !least.is_normal() | least.is_sign_negative()
        {
            Some(format!(
                "a logarithm over {least} is not finite for silence"
            ))
        } else {
            None
        }
    }
}
