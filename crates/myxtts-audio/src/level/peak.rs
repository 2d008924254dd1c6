//! Normalising by the highest sample.

use super::LevelError;
use crate::units::Decibels;

/// Scales samples so that the highest is at `level` (0 dB is full scale), and
/// returns the gain.
pub(crate) fn normalize_peak(samples: &mut [f32], level: Decibels) -> Result<Decibels, LevelError> {
    let peak = peak(samples);
    if peak == 0.0 {
        return Err(LevelError::Silent);
    }
    Ok(scale(
        samples,
        f64::from(level.amplitude()) / f64::from(peak),
    ))
}

/// Returns the largest magnitude of the samples.
pub(super) fn peak(samples: &[f32]) -> f32 {
    samples
        .iter()
        .fold(0.0, |peak, x| if x.abs() > peak { x.abs() } else { peak })
}

/// Multiplies samples by `gain`, and returns it in dB.
pub(super) fn scale(samples: &mut [f32], gain: f64) -> Decibels {
    let factor = crate::cast::to_f32(gain);
    samples.iter_mut().for_each(|x| *x *= factor);
    Decibels(20.0 * gain.log10())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_sample_lands_on_the_level() {
        let mut samples = [0.1, -0.25, 0.2];
        let gain = normalize_peak(&mut samples, Decibels(-6.0)).unwrap();
        assert!((samples[1] + 0.501_187_2).abs() < 1e-6, "{samples:?}");
        assert!((gain.0 - 6.041).abs() < 1e-3, "{gain}");
    }

    #[test]
    fn silence_is_refused_and_left_alone() {
        let mut samples = [0.0; 4];
        assert_eq!(
            normalize_peak(&mut samples, Decibels(0.0)),
            Err(LevelError::Silent)
        );
        assert_eq!(
            normalize_peak(&mut [], Decibels(0.0)),
            Err(LevelError::Silent)
        );
        assert_eq!(samples, [0.0; 4]);
    }
}
