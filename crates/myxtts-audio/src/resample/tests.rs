//! The fast path against the double sum, and the quality of the filter.

use std::f64::consts::TAU;

use super::kernel::windowed_sinc;
use super::*;

fn rate(hz: u32) -> SampleRate {
    SampleRate::new(hz).unwrap()
}

/// A sum of the definition over every input sample, in `f64`.
fn reference(input: &[f32], from: u32, to: u32, spec: ResampleSpec) -> Vec<f64> {
    let (from, to) = (f64::from(from), f64::from(to));
    let base = from.min(to) * spec.rolloff;
    let length = (input.len() as f64 * to / from).ceil();
    (0..crate::cast::to_usize(length))
        .map(|n| {
            let sum: f64 = input
                .iter()
                .enumerate()
                .map(|(q, &x)| {
                    let t = (q as f64 / from - n as f64 / to) * base;
                    f64::from(x) * windowed_sinc(t, f64::from(spec.zero_crossings), spec.taper)
                })
                .sum();
            sum * base / from
        })
        .collect()
}

fn tone(hz: f64, rate: u32, length: usize) -> Vec<f32> {
    (0..length)
        .map(|n| (TAU * hz * n as f64 / f64::from(rate)).sin() as f32)
        .collect()
}

/// Level of the middle of `output` relative to a full-scale sine, in dB.
fn level(output: &[f32]) -> f64 {
    let middle = &output[output.len() / 4..output.len() * 3 / 4];
    let power: f64 =
        middle.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>() / middle.len() as f64;
    10.0 * (2.0 * power).log10()
}

#[test]
fn the_polyphase_form_is_the_double_sum() {
    for (from, to) in [
        (44_100, 22_050),
        (48_000, 22_050),
        (22_050, 16_000),
        (16_000, 22_050),
        (8_000, 22_050),
        (24_001, 22_050),
    ] {
        for spec in [ResampleSpec::XTTS, ResampleSpec::KAISER_BEST] {
            let input: Vec<f32> = (0_u32..301)
                .map(|n| ((n * 7919 % 1000) as f32) / 500.0 - 1.0)
                .collect();
            let mut resampler = Resampler::new(rate(from), rate(to), spec);
            let fast = resampler.process(&input);
            let slow = reference(&input, from, to, spec);
            assert_eq!(fast.len(), slow.len(), "{from} -> {to}");
            for (n, (fast, slow)) in fast.iter().zip(&slow).enumerate() {
                let difference = (f64::from(*fast) - slow).abs();
                assert!(
                    difference < 2e-6,
                    "{from} -> {to} {spec:?} [{n}]: {difference:.1e}"
                );
            }
        }
    }
}

#[test]
fn equal_rates_change_nothing() {
    let mut resampler = Resampler::new(rate(22_050), rate(22_050), ResampleSpec::XTTS);
    assert_eq!(resampler.process(&[0.1, -0.2]), [0.1, -0.2]);
}

#[test]
fn short_and_empty_inputs() {
    let mut resampler = Resampler::new(rate(48_000), rate(22_050), ResampleSpec::XTTS);
    assert_eq!(resampler.process(&[]).len(), 0);
    assert_eq!(resampler.process(&[1.0]).len(), 1);
    assert_eq!(resampler.process(&[1.0; 3]).len(), 2);
}

#[test]
fn a_second_call_sees_nothing_of_the_first() {
    let mut resampler = Resampler::new(rate(44_100), rate(22_050), ResampleSpec::XTTS);
    let fresh = resampler.process(&[0.5; 100]);
    resampler.process(&[1.0; 5000]);
    assert_eq!(resampler.process(&[0.5; 100]), fresh);
}

/// torchaudio's short filter turns slowly: this is what its quality is, not
/// what one would choose. The Kaiser one is what a good filter looks like.
#[test]
fn passes_speech_and_stops_what_would_alias() {
    const STOP_HZ: [f64; 4] = [13_500.0, 15_000.0, 18_000.0, 21_000.0];
    for (from, spec, most) in [
        (44_100, ResampleSpec::XTTS, [-34.0, -46.0, -60.0, -75.0]),
        (48_000, ResampleSpec::XTTS, [-34.0, -46.0, -60.0, -75.0]),
        (44_100, ResampleSpec::KAISER_BEST, [-120.0; 4]),
    ] {
        let mut resampler = Resampler::new(rate(from), SampleRate::XTTS, spec);
        let mut gain = |hz| level(&resampler.process(&tone(hz, from, 40_000)));
        let ripple = [100.0, 1000.0, 4000.0, 8000.0].map(&mut gain);
        let leak = STOP_HZ.map(&mut gain);
        println!(
            "{from} -> 22050 {:?}: pass {ripple:.2?} dB, stop {leak:.1?} dB",
            spec.taper
        );
        assert!(ripple.iter().all(|gain| gain.abs() < 0.05), "{ripple:?}");
        assert!(
            leak.iter().zip(most).all(|(&leak, most)| leak < most),
            "{leak:?}"
        );
    }
}
