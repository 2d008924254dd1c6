//! Integrated loudness by ITU-R BS.1770-4 and EBU R 128, for one channel.
//!
//! This is written out and not taken from a crate: for mono it is two filters and
//! two gates, and the crate at hand brings an unmaintained sample library. The
//! standard gives the filters for 48 kHz only; the analogue parameters below give
//! its coefficients back at that rate (there is a test) and the same response at
//! any other.

use std::f64::consts::PI;

use super::LevelError;
use super::peak::{peak, scale};
use crate::units::{Decibels, Lufs, SampleRate, Samples, Seconds};
use crate::waveform::Waveform;

/// The hop between blocks: four of these are a block of 400 ms, which overlaps
/// the next by three quarters.
const STEP: Seconds = Seconds(0.1);
const STEPS_PER_BLOCK: usize = 4;
/// Blocks below this level, in LUFS, never count.
const ABSOLUTE_GATE: f64 = -70.0;
/// Blocks this far below the mean of the others, in LU, are pauses.
const RELATIVE_GATE: f64 = -10.0;

/// Measures the integrated, gated loudness of a clip.
pub fn loudness(waveform: &Waveform) -> Result<Lufs, LevelError> {
    let step = Samples::in_time(STEP, waveform.rate).0.max(1);
    let mut filter = KWeighting::new(waveform.rate);
    let steps: Vec<f64> = waveform
        .samples
        .chunks_exact(step)
        .map(|step| {
            step.iter()
                .map(|&x| filter.next(f64::from(x)).powi(2))
                .sum::<f64>()
        })
        .collect();
    let length = (step * STEPS_PER_BLOCK) as f64;
    let powers: Vec<f64> = steps
        .windows(STEPS_PER_BLOCK)
        .map(|block| block.iter().sum::<f64>() / length)
        .collect();
    if powers.is_empty() {
        return Err(LevelError::TooShort);
    }
    let heard = gated(&powers, ABSOLUTE_GATE).ok_or(LevelError::Silent)?;
    let gate = (level(heard) + RELATIVE_GATE).max(ABSOLUTE_GATE);
    gated(&powers, gate)
        .map(|power| Lufs(level(power)))
        .ok_or(LevelError::Silent)
}

/// Brings a clip to `target`, or as near as its highest sample can go without
/// passing `ceiling`, and returns the gain. The ceiling wins over the target:
/// clipping is heard, a clip that is a little too quiet is not.
pub(crate) fn normalize_loudness(
    waveform: &mut Waveform,
    target: Lufs,
    ceiling: Decibels,
) -> Result<Decibels, LevelError> {
    let Lufs(now) = loudness(waveform)?;
    let wanted = 10.0_f64.powf((target.0 - now) / 20.0);
    let most = f64::from(ceiling.amplitude()) / f64::from(peak(&waveform.samples));
    Ok(scale(&mut waveform.samples, wanted.min(most)))
}

/// Returns the mean of the powers above `gate`; `None` when there are none.
fn gated(powers: &[f64], gate: f64) -> Option<f64> {
    let above: Vec<f64> = powers
        .iter()
        .copied()
        .filter(|&power| level(power) > gate)
        .collect();
    (!above.is_empty()).then(|| above.iter().sum::<f64>() / above.len() as f64)
}

/// Converts a mean square to LUFS.
fn level(power: f64) -> f64 {
    -0.691 + 10.0 * power.log10()
}

/// The two filters of the standard: a shelf for the head, a high-pass for the ear.
struct KWeighting {
    shelf: Biquad,
    high_pass: Biquad,
}

impl KWeighting {
    fn new(rate: SampleRate) -> Self {
        let rate = f64::from(rate.hz());
        let shelf = {
            let (frequency, gain, q) = (
                1_681.974_450_955_533,
                3.999_843_853_973_347,
                0.707_175_236_955_419_6,
            );
            let k = (PI * frequency / rate).tan();
            let high = 10.0_f64.powf(gain / 20.0);
            let band = high.powf(0.499_666_774_154_541_6);
            let a0 = 1.0 + k / q + k * k;
            Biquad {
                b: [
                    (high + band * k / q + k * k) / a0,
                    2.0 * (k * k - high) / a0,
                    (high - band * k / q + k * k) / a0,
                ],
                a: [2.0 * (k * k - 1.0) / a0, (1.0 - k / q + k * k) / a0],
                state: [0.0; 2],
            }
        };
        let high_pass = {
            let (frequency, q) = (38.135_470_876_024_44, 0.500_327_037_323_877_3);
            let k = (PI * frequency / rate).tan();
            let a0 = 1.0 + k / q + k * k;
            Biquad {
                b: [1.0, -2.0, 1.0],
                a: [2.0 * (k * k - 1.0) / a0, (1.0 - k / q + k * k) / a0],
                state: [0.0; 2],
            }
        };
        Self { shelf, high_pass }
    }

    fn next(&mut self, x: f64) -> f64 {
        self.high_pass.next(self.shelf.next(x))
    }
}

/// A second-order section, transposed direct form II.
struct Biquad {
    b: [f64; 3],
    a: [f64; 2],
    state: [f64; 2],
}

impl Biquad {
    fn next(&mut self, x: f64) -> f64 {
        let y = self.b[0] * x + self.state[0];
        self.state[0] = self.b[1] * x - self.a[0] * y + self.state[1];
        self.state[1] = self.b[2] * x - self.a[1] * y;
        y
    }
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "test code")]
mod tests {
    use super::*;

    fn rate(hz: u32) -> SampleRate {
        SampleRate::new(hz).unwrap()
    }

    /// A sine of 997 Hz: seconds at dB below full scale, part after part.
    fn sine(hz: u32, parts: &[(f64, f64)]) -> Waveform {
        let mut samples = Vec::new();
        for &(seconds, db) in parts {
            let amplitude = Decibels(db).amplitude();
            let count = Samples::in_time(Seconds(seconds), rate(hz)).0;
            samples.extend(
                (0..count).map(|n| {
                    (2.0 * PI * 997.0 * n as f64 / f64::from(hz)).sin() as f32 * amplitude
                }),
            );
        }
        Waveform {
            samples,
            rate: rate(hz),
        }
    }

    #[track_caller]
    fn assert_loudness(waveform: &Waveform, expected: f64) {
        let Lufs(measured) = loudness(waveform).unwrap();
        assert!(
            (measured - expected).abs() < 0.1,
            "{measured} LUFS, expected {expected}"
        );
    }

    #[test]
    fn the_filters_are_the_ones_of_the_standard() {
        let filter = KWeighting::new(rate(48_000));
        let expected = [1.53512485958697, -2.69169618940638, 1.19839281085285];
        for (ours, table) in filter.shelf.b.iter().zip(expected) {
            assert!((ours - table).abs() < 1e-10, "{ours} {table}");
        }
        let ours = [filter.shelf.a, filter.high_pass.a].concat();
        let expected = [
            -1.69065929318241,
            0.73248077421585,
            -1.99004745483398,
            0.99007225036621,
        ];
        for (ours, table) in ours.iter().zip(expected) {
            assert!((ours - table).abs() < 1e-10, "{ours} {table}");
        }
    }

    #[test]
    fn a_full_scale_sine_in_one_channel_is_3_lufs_down() {
        for hz in [16_000, 22_050, 24_000, 44_100, 48_000] {
            assert_loudness(&sine(hz, &[(3.0, 0.0)]), -3.01);
        }
    }

    /// The gating cases of EBU Tech 3341, for one channel (3.01 dB lower).
    #[test]
    fn pauses_do_not_count() {
        assert_loudness(&sine(48_000, &[(20.0, -33.0)]), -36.01);
        assert_loudness(
            &sine(48_000, &[(10.0, -36.0), (60.0, -23.0), (10.0, -36.0)]),
            -26.01,
        );
        let with_silence = [
            (10.0, -72.0),
            (10.0, -36.0),
            (60.0, -23.0),
            (10.0, -36.0),
            (10.0, -72.0),
        ];
        assert_loudness(&sine(48_000, &with_silence), -26.01);
        assert_loudness(
            &sine(48_000, &[(20.0, -26.0), (20.1, -20.0), (20.0, -26.0)]),
            -26.01,
        );
    }

    #[test]
    fn the_target_is_reached_unless_the_ceiling_is() {
        let mut clip = sine(22_050, &[(2.0, -30.0)]);
        normalize_loudness(&mut clip, Lufs(-23.0), Decibels(-1.0)).unwrap();
        assert_loudness(&clip, -23.0);

        clip.samples[5000] = 0.5;
        normalize_loudness(&mut clip, Lufs(-3.0), Decibels(-1.0)).unwrap();
        assert!((peak(&clip.samples) - Decibels(-1.0).amplitude()).abs() < 1e-6);
    }

    #[test]
    fn what_has_no_loudness() {
        let silent = Waveform {
            samples: vec![0.0; 44_100],
            rate: SampleRate::XTTS,
        };
        assert_eq!(loudness(&silent), Err(LevelError::Silent));
        let short = Waveform {
            samples: vec![0.5; 8_000],
            rate: SampleRate::XTTS,
        };
        assert_eq!(loudness(&short), Err(LevelError::TooShort));
    }
}
