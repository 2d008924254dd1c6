//! Cutting silence off both ends.

use crate::units::{Decibels, SampleRate, Samples, Seconds};
use crate::waveform::Waveform;

/// The length of the blocks a clip is judged in: long enough that a click or a
/// zero crossing does not decide, short enough to find the start of a word.
const BLOCK: Seconds = Seconds(0.01);

/// How silence is cut.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trim {
    /// A block this far below the loudest one is silent.
    pub threshold: Decibels,
    /// How much is kept around what is not silent, so that soft consonants survive.
    pub keep: Seconds,
}

impl Default for Trim {
    fn default() -> Self {
        Self {
            threshold: Decibels(-40.0),
            keep: Seconds(0.05),
        }
    }
}

/// Cuts silence off both ends, and returns how much came off the start and the
/// end. A clip that is silent throughout is left as it is, because it has no inside.
pub fn trim(waveform: &mut Waveform, how: &Trim) -> (Samples, Samples) {
    let length = waveform.samples.len();
    let (start, end) = sounding(&waveform.samples, waveform.rate, how).unwrap_or((0, length));
    waveform.samples.truncate(end);
    waveform.samples.drain(..start);
    (Samples(start), Samples(length - end))
}

/// Returns the range to keep; `None` for silence.
fn sounding(samples: &[f32], rate: SampleRate, how: &Trim) -> Option<(usize, usize)> {
    let block = Samples::in_time(BLOCK, rate).0.max(1);
    let power =
        |block: &[f32]| -> f32 { block.iter().map(|x| x * x).sum::<f32>() / block.len() as f32 };
    let powers: Vec<f32> = samples.chunks(block).map(power).collect();
    let loudest = powers.iter().copied().fold(0.0, f32::max);
    let threshold = loudest * how.threshold.amplitude().powi(2);
    let heard = |power: &f32| *power > 0.0 && *power >= threshold;
    let first = powers.iter().position(heard)?;
    let last = powers.iter().rposition(heard)?;
    let keep = Samples::in_time(how.keep, rate).0;
    let start = (first * block).saturating_sub(keep);
    let end = ((last + 1) * block).saturating_add(keep).min(samples.len());
    Some((start, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: SampleRate = SampleRate::XTTS;

    /// Half a second of hiss at `hiss`, one of tone, half of hiss.
    fn clip(hiss: f32) -> Waveform {
        let samples = (0_u16..44_100)
            .map(|n| {
                let tone = if (11_025..33_075).contains(&n) {
                    (f32::from(n) * 0.1).sin() * 0.5
                } else {
                    0.0
                };
                tone + if n % 2 == 0 { hiss } else { -hiss }
            })
            .collect();
        Waveform {
            samples,
            rate: RATE,
        }
    }

    #[test]
    fn both_ends_go_and_the_padding_stays() {
        for hiss in [0.0, 0.001] {
            let mut waveform = clip(hiss);
            let (head, tail) = trim(&mut waveform, &Trim::default());
            // The block that holds the edge, less the padding of 50 ms.
            let expected = 11_025 - 1_103;
            assert!(head.0.abs_diff(expected) <= 221, "{head}");
            assert!(tail.0.abs_diff(expected) <= 221, "{tail}");
            assert_eq!(waveform.samples.len(), 44_100 - head.0 - tail.0);
        }
    }

    #[test]
    fn hiss_above_the_threshold_is_kept() {
        let mut waveform = clip(0.02);
        assert_eq!(
            trim(&mut waveform, &Trim::default()),
            (Samples(0), Samples(0))
        );
    }

    #[test]
    fn silent_tiny_and_empty_clips_are_left_alone() {
        for samples in [vec![0.0; 5000], vec![0.5], vec![]] {
            let mut waveform = Waveform {
                samples: samples.clone(),
                rate: RATE,
            };
            assert_eq!(
                trim(&mut waveform, &Trim::default()),
                (Samples(0), Samples(0))
            );
            assert_eq!(waveform.samples, samples);
        }
    }
}
