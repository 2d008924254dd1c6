//! Mel cepstra: the shape of the spectrum of each frame, without its level.
//!
//! The logarithm of the amplitude in mel bands is written as a cosine series,
//! `ln A(b) = c0 + sum over m of c_m cos(pi m (b + 1/2) / bands)`, and the terms
//! 1 to 13 are kept. With that normalisation `10 / ln 10 * sqrt(2 sum (c - c')^2)`
//! is the root mean square of the difference of two smoothed spectra in dB,
//! which is what the constant of mel-cepstral distortion means (Kubichek, 1993).
//!
//! Public tools differ in how they smooth the spectrum: by a vocoder's envelope,
//! or, as here, by a filter bank. Figures of the two are alike, not equal.

use myxtts_audio::Mel;
use myxtts_audio::units::{Decibels, Frames};

/// The number of terms that are kept; the one without a cosine, the level, is not.
pub(crate) const ORDER: usize = 13;

/// What is this far below the loudest band of a clip counts as silence: noise
/// there comes from the converter, and must not be scored. The high bands of a
/// vowel lie 60 dB below its low ones, so the floor is lower than that.
const FLOOR: Decibels = Decibels(-80.0);

/// The mel cepstra of a clip, frame by frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Cepstra {
    /// Scaled so that the distance of two frames is their distortion in dB.
    frames: Vec<[f32; ORDER]>,
}

impl Cepstra {
    /// Computes the cepstra from the log powers of bands, see [`log_bands`].
    pub(crate) fn of(log_mel: &Mel) -> Self {
        let bands = log_mel.bands;
        let scale = 10.0 / std::f64::consts::LN_10 * std::f64::consts::SQRT_2;
        // Half of the logarithm of a power is that of the amplitude; the cosine
        // series over the bands has a factor of 2.
        let scale = scale / bands as f64;
        let cosines: Vec<Vec<f64>> = (1..=ORDER)
            .map(|term| {
                let turn = std::f64::consts::PI * term as f64 / bands as f64;
                (0..bands)
                    .map(|band| (turn * (band as f64 + 0.5)).cos() * scale)
                    .collect()
            })
            .collect();
        let mut sums = vec![[0.0_f64; ORDER]; log_mel.frames.0];
        for (band, row) in log_mel.rows().enumerate() {
            for (frame, value) in sums.iter_mut().zip(row) {
                for (sum, cosines) in frame.iter_mut().zip(&cosines) {
                    *sum += cosines[band] * f64::from(*value);
                }
            }
        }
        Self {
            frames: sums.into_iter().map(|frame| frame.map(to_f32)).collect(),
        }
    }

    /// Returns the number of frames.
    pub fn frames(&self) -> Frames {
        Frames(self.frames.len())
    }

    pub(crate) fn as_slice(&self) -> &[[f32; ORDER]] {
        &self.frames
    }
}

/// Computes the distortion between two frames, in dB.
pub(crate) fn distortion(a: &[f32; ORDER], b: &[f32; ORDER]) -> f32 {
    let squares = a.iter().zip(b).map(|(a, b)| (a - b) * (a - b));
    squares.sum::<f32>().sqrt()
}

/// Takes natural logarithms of powers, and raises what is below [`FLOOR`] to it.
pub(crate) fn log_bands(mut power: Mel) -> Mel {
    let loudest = power.values.iter().copied().fold(0.0, f32::max);
    let floor = (loudest * FLOOR.amplitude().powi(2)).max(f32::MIN_POSITIVE);
    for value in &mut power.values {
        *value = value.max(floor).ln();
    }
    power
}

#[expect(clippy::cast_possible_truncation, reason = "a few decibels")]
fn to_f32(x: f64) -> f32 {
    x as f32
}

#[cfg(test)]
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "test code"
)]
mod tests {
    use super::*;

    fn mel(bands: usize, values: Vec<f32>) -> Mel {
        Mel {
            frames: Frames(values.len() / bands),
            bands,
            values,
        }
    }

    /// The definition: terms by projection, frame by frame, in f64.
    fn plain(log_mel: &Mel, frame: usize) -> Vec<f64> {
        let bands = log_mel.bands;
        let term = |term: usize| {
            let mut sum = 0.0;
            for band in 0..bands {
                let amplitude = f64::from(log_mel.values[band * log_mel.frames.0 + frame]) / 2.0;
                let angle = std::f64::consts::PI * term as f64 * (band as f64 + 0.5) / bands as f64;
                sum += amplitude * angle.cos();
            }
            2.0 * sum / bands as f64
        };
        (1..=ORDER).map(term).collect()
    }

    #[test]
    fn terms_are_those_of_the_definition() {
        let values = (0..80 * 3).map(|n| ((n * n) as f32 * 0.37).sin() * 4.0);
        let mel = mel(80, values.collect());
        let cepstra = Cepstra::of(&mel);
        let scale = 10.0 / std::f64::consts::LN_10 * std::f64::consts::SQRT_2;
        for (frame, found) in cepstra.as_slice().iter().enumerate() {
            for (term, found) in plain(&mel, frame).iter().zip(found) {
                assert!((term * scale - f64::from(*found)).abs() < 1e-4);
            }
        }
    }

    /// Spectra that differ by one cosine: the root mean square of their
    /// difference in dB, whichever the cosine.
    #[test]
    fn distortion_is_a_difference_of_spectra_in_decibels() {
        let bands = 80;
        for term in 1..=ORDER {
            // 20 log10 of the amplitude is 10 log10 of the power: a swing of
            // 3 dB in the amplitude.
            let swing = 3.0 / 10.0 * std::f64::consts::LN_10;
            let angle = |band: usize| {
                std::f64::consts::PI * term as f64 * (band as f64 + 0.5) / f64::from(bands)
            };
            let waved = (0..80)
                .map(|band| (swing * angle(band).cos()) as f32)
                .collect();
            let flat = Cepstra::of(&mel(80, vec![1.0; 80]));
            let waved = Cepstra::of(&mel(80, waved));
            let found = distortion(&flat.as_slice()[0], &waved.as_slice()[0]);
            let expected = 3.0 / 2.0_f32.sqrt();
            assert!((found - expected).abs() < 1e-3, "{term}: {found}");
        }
    }

    #[test]
    fn what_is_far_below_the_loudest_band_is_one_floor() {
        let log = log_bands(mel(3, vec![1.0, 1e-9, 0.0]));
        assert_eq!(log.values[1], log.values[2]);
        assert!((log.values[1] - 1e-8_f32.ln()).abs() < 1e-3);
        let silent = log_bands(mel(3, vec![0.0; 3]));
        assert!(silent.values.iter().all(|value| value.is_finite()));
    }
}
