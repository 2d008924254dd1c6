//! The pitch of each frame, or that it has none.
//!
//! De Cheveigné and Kawahara's YIN (2002) measures how unlike itself a frame is
//! after each lag: the sum of squared differences, over its mean at shorter lags.
//! The minima are candidates for the period. YIN takes the first one under a
//! threshold; here the whole clip decides, as in RAPT (Talkin, 1995): the
//! cheapest path through the candidates and "unvoiced" wins, where jumps and
//! changes of voicing cost. That removes most of the octave errors of single frames.

use myxtts_audio::units::{Decibels, Frames, SampleRate};

use crate::units::Hertz;

/// The range of pitch, between a low man's creak and a child's cry.
const LOWEST: Hertz = Hertz(60.0);
const HIGHEST: Hertz = Hertz(500.0);
/// Samples that are compared with those a lag later: two of the longest periods.
const WINDOW: usize = 768;
/// The most candidates of a frame.
const MOST_CANDIDATES: usize = 5;
/// The cost of being unvoiced, where YIN's measure is 0 for a perfect period. Of
/// 0.35, 0.45 and 0.55 it is the one that two public trackers contradict least,
/// as little as they contradict each other (`benchmarks/scores.md`). The next
/// three are usual settings of Praat (Boersma, 1993).
const UNVOICED: f64 = 0.45;
/// The cost per octave of a lower pitch, because two periods are as alike as one.
const PER_OCTAVE_DOWN: f64 = 0.01;
/// The cost of a jump of an octave between frames.
const PER_OCTAVE_JUMP: f64 = 0.35;
/// The cost of becoming voiced or unvoiced.
const CHANGE: f64 = 0.14;
/// A frame this far below the loudest is not voiced.
const QUIET: Decibels = Decibels(-40.0);

/// The pitch of a clip, frame by frame.
#[derive(Clone, Debug, PartialEq)]
pub struct PitchTrack {
    /// The pitch of each frame; `None` where it has none.
    pub frames: Vec<Option<Hertz>>,
}

/// A possible pitch of a frame, and its cost.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    pitch: Hertz,
    cost: f64,
}

impl PitchTrack {
    /// Tracks the pitch of samples at `rate` in `frames` frames, which are `hop`
    /// samples apart, the first centred on the first sample.
    pub(crate) fn of(
        samples: &[f32],
        rate: SampleRate,
        Frames(frames): Frames,
        hop: usize,
    ) -> Self {
        let lags = Lags::of(rate);
        // A frame compares a window with samples up to the longest lag later.
        let reach = WINDOW + lags.longest;
        let mut padded = vec![0.0; reach / 2];
        padded.extend_from_slice(samples);
        padded.resize(padded.len().max(frames * hop) + reach, 0.0);
        let frame = |index: usize| &padded[index * hop..index * hop + reach];
        let power = |index: usize| frame(index).iter().map(|x| x * x).sum::<f32>();
        let powers: Vec<f32> = (0..frames).map(power).collect();
        let loudest = powers.iter().copied().fold(0.0, f32::max);
        let quiet = loudest * QUIET.amplitude().powi(2);
        let candidates: Vec<Vec<Candidate>> = (0..frames)
            .map(|index| match powers[index] > quiet {
                true => lags.candidates(&unlikeness(&difference(frame(index), lags.longest))),
                false => vec![],
            })
            .collect();
        Self {
            frames: cheapest(&candidates),
        }
    }
}

/// Computes YIN's difference function at lags up to `longest`.
fn difference(frame: &[f32], longest: usize) -> Vec<f32> {
    let window = &frame[..WINDOW];
    (0..=longest)
        .map(|lag| {
            let (now, later) = (
                window.as_chunks::<8>().0,
                frame[lag..lag + WINDOW].as_chunks::<8>().0,
            );
            // Eight sums at a time, which the machine's vectors do at once.
            let mut sums = [0.0; 8];
            for (now, later) in now.iter().zip(later) {
                for lane in 0..8 {
                    let apart = now[lane] - later[lane];
                    sums[lane] += apart * apart;
                }
            }
            sums.iter().sum()
        })
        .collect()
}

/// Divides the difference by its mean at shorter lags: 1 at lag 0, near 0 at a period.
fn unlikeness(difference: &[f32]) -> Vec<f64> {
    let mut sum = 0.0;
    let mut unlike = vec![1.0];
    for (lag, difference) in difference.iter().enumerate().skip(1) {
        let difference = f64::from(*difference);
        sum += difference;
        unlike.push(match sum > 0.0 {
            true => difference * lag as f64 / sum,
            false => 1.0,
        });
    }
    unlike
}

/// The range of lags that are possible periods, in samples.
struct Lags {
    rate: f64,
    shortest: usize,
    longest: usize,
}

impl Lags {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "hundreds of samples"
    )]
    fn of(rate: SampleRate) -> Self {
        let rate = f64::from(rate.hz());
        Self {
            rate,
            shortest: (rate / HIGHEST.0).floor() as usize,
            longest: (rate / LOWEST.0).ceil() as usize,
        }
    }

    /// Returns the deepest minima as candidates, cheapest first.
    fn candidates(&self, unlike: &[f64]) -> Vec<Candidate> {
        let mut found = vec![];
        for lag in self.shortest.max(1)..self.longest {
            let (before, here, after) = (unlike[lag - 1], unlike[lag], unlike[lag + 1]);
            if here < before && here <= after {
                // The bottom of the parabola through the three points.
                let bend = before - 2.0 * here + after;
                let shift = match bend > 0.0 {
                    true => 0.5 * (before - after) / bend,
                    false => 0.0,
                };
                let bottom = (here - 0.25 * (before - after) * shift).max(0.0);
                let pitch = Hertz(self.rate / (lag as f64 + shift));
                let octaves_down = (HIGHEST.0 / pitch.0).log2();
                found.push(Candidate {
                    pitch,
                    cost: bottom + PER_OCTAVE_DOWN * octaves_down,
                });
            }
        }
        found.sort_by(|a, b| a.cost.total_cmp(&b.cost));
        found.truncate(MOST_CANDIDATES);
        found
    }
}

/// Returns the cost of going from one pitch, or none, to another.
fn change(from: Option<Hertz>, to: Option<Hertz>) -> f64 {
    match (from, to) {
        (None, None) => 0.0,
        (Some(from), Some(to)) => PER_OCTAVE_JUMP * (from.0 / to.0).log2().abs(),
        _ => CHANGE,
    }
}

/// Returns the pitches, or none, that a frame may have, with their costs.
fn states(candidates: &[Candidate]) -> Vec<(Option<Hertz>, f64)> {
    let voiced = candidates.iter().map(|one| (Some(one.pitch), one.cost));
    voiced.chain([(None, UNVOICED)]).collect()
}

/// Finds the cheapest path through the frames.
fn cheapest(candidates: &[Vec<Candidate>]) -> Vec<Option<Hertz>> {
    let frames: Vec<Vec<(Option<Hertz>, f64)>> =
        candidates.iter().map(|frame| states(frame)).collect();
    // For each state of a frame, the cost of reaching it and the state before it.
    let mut costs: Vec<f64> = vec![];
    let mut backs: Vec<Vec<usize>> = vec![];
    for (index, frame) in frames.iter().enumerate() {
        let mut back = vec![];
        let reached = frame.iter().map(|(pitch, cost)| {
            let ways = costs.iter().enumerate().map(|(state, so_far)| {
                let from = frames[index - 1][state].0;
                (so_far + change(from, *pitch), state)
            });
            let best = ways.reduce(|best, way| if way.0 < best.0 { way } else { best });
            let (so_far, state) = best.unwrap_or((0.0, 0));
            back.push(state);
            so_far + cost
        });
        costs = reached.collect();
        backs.push(back);
    }
    let last = costs.iter().enumerate().min_by(|a, b| a.1.total_cmp(b.1));
    let Some((mut state, _)) = last else {
        return vec![];
    };
    let mut path = vec![None; frames.len()];
    for index in (0..frames.len()).rev() {
        path[index] = frames[index][state].0;
        state = backs[index][state];
    }
    path
}

#[cfg(test)]
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "test code"
)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RATE: SampleRate = SampleRate::XTTS;

    /// Harmonics of a gliding pitch.
    fn glide(from: f64, to: f64, samples: usize) -> Vec<f32> {
        let mut turn = 0.0;
        let sample = |n: usize| {
            let at = n as f64 / samples as f64;
            turn += std::f64::consts::TAU * (from + (to - from) * at) / f64::from(RATE.hz());
            let harmonics = (1..=8).map(|k| (turn * f64::from(k)).sin() / f64::from(k));
            (harmonics.sum::<f64>() * 0.2) as f32
        };
        (0..samples).map(sample).collect()
    }

    /// The definition, sample by sample.
    fn plain_difference(frame: &[f32], longest: usize) -> Vec<f64> {
        let at = |n: usize| f64::from(frame[n]);
        (0..=longest)
            .map(|lag| (0..WINDOW).map(|n| (at(n) - at(n + lag)).powi(2)).sum())
            .collect()
    }

    #[test]
    fn differences_are_those_of_the_definition() {
        let frame: Vec<f32> = glide(90.0, 130.0, WINDOW + 368);
        let found = difference(&frame, 367);
        for (found, expected) in found.iter().zip(plain_difference(&frame, 367)) {
            let apart = (f64::from(*found) - expected).abs();
            assert!(apart < 1e-3 * expected.max(1.0), "{found} {expected}");
        }
    }

    #[test]
    fn a_glide_is_followed_within_ten_cents() {
        for (from, to) in [(80.0, 160.0), (300.0, 180.0), (70.0, 75.0), (420.0, 480.0)] {
            let samples = glide(from, to, 44_100);
            let track = PitchTrack::of(&samples, RATE, Frames(172), 256);
            // Windows that hang over an end have less of a pitch.
            for (frame, found) in track.frames.iter().enumerate().skip(4).take(163) {
                // The middle of what is compared: half of a window and a lag.
                let at = frame as f64 * 256.0 / 44_100.0;
                let expected = Hertz(from + (to - from) * at);
                let found = found.unwrap_or_else(|| panic!("{from} to {to}: frame {frame}"));
                let apart = found.above(expected).0.abs();
                assert!(
                    apart < 25.0,
                    "{from} to {to}, frame {frame}: {found} for {expected}"
                );
            }
        }
    }

    #[test]
    fn noise_and_silence_have_no_pitch() {
        let mut state = 7_u32;
        let noise: Vec<f32> = (0..22_050)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 8) as f32 / 8_388_608.0 - 1.0
            })
            .collect();
        for samples in [noise, vec![0.0; 22_050]] {
            let track = PitchTrack::of(&samples, RATE, Frames(87), 256);
            let voiced = track.frames.iter().flatten().count();
            assert!(voiced <= 2, "{voiced}");
        }
    }

    /// The cheapest of all paths, each tried.
    fn plain(frames: &[Vec<(Option<Hertz>, f64)>], from: Option<Option<Hertz>>) -> f64 {
        let Some((first, rest)) = frames.split_first() else {
            return 0.0;
        };
        let ways = first.iter().map(|(pitch, cost)| {
            let step = from.map_or(0.0, |from| change(from, *pitch));
            step + cost + plain(rest, Some(*pitch))
        });
        ways.reduce(f64::min).unwrap_or(0.0)
    }

    proptest! {
        #[test]
        fn the_path_is_the_cheapest_of_all(
            clip in prop::collection::vec(
                prop::collection::vec((60.0_f64..500.0, 0.0_f64..0.6), 0..4), 1..6)
        ) {
            let candidates: Vec<Vec<Candidate>> = clip.iter().map(|frame| {
                frame.iter().map(|(pitch, cost)| Candidate { pitch: Hertz(*pitch), cost: *cost }).collect()
            }).collect();
            let frames: Vec<_> = candidates.iter().map(|frame| states(frame)).collect();
            let path = cheapest(&candidates);
            let mut total = 0.0;
            for (index, pitch) in path.iter().enumerate() {
                let here = frames[index].iter().filter(|(found, _)| found == pitch);
                total += here.map(|(_, cost)| *cost).reduce(f64::min).unwrap();
                if index > 0 {
                    total += change(path[index - 1], *pitch);
                }
            }
            prop_assert!((total - plain(&frames, None)).abs() < 1e-9);
        }
    }
}
