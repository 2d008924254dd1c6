//! Whole clips against each other.
#![allow(
    missing_docs,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::panic,
    clippy::unwrap_used,
    reason = "test code"
)]

use myxtts_audio::Waveform;
use myxtts_audio::units::SampleRate;
use myxtts_score::{Analyser, Analysis, compare};

/// A voice of sorts: harmonics of a pitch through two resonances that move.
fn voice(pitch: f64, tract: f64, seconds: f64, rate: u32) -> Waveform {
    let samples = (seconds * f64::from(rate)) as usize;
    let sample = |n: usize| {
        let at = n as f64 / f64::from(rate);
        let part = at / seconds;
        let formants = [
            (500.0 + 300.0 * (part * 9.0).sin()) * tract,
            (1500.0 + 600.0 * (part * 5.0).cos()) * tract,
        ];
        let level = (part * 12.0).sin().abs().sqrt();
        let mut sum = 0.0;
        for harmonic in 1..(4000.0 / pitch) as usize {
            let frequency = pitch * harmonic as f64;
            let gain = formants.map(|formant| (-((frequency - formant) / 250.0).powi(2)).exp());
            let turn = std::f64::consts::TAU * frequency * at;
            sum += (gain[0] + 0.5 * gain[1] + 0.01) * turn.sin();
        }
        (sum * 0.1 * level) as f32
    };
    Waveform {
        samples: (0..samples).map(sample).collect(),
        rate: SampleRate::new(rate).unwrap(),
    }
}

fn analysed(waveform: &Waveform) -> Analysis {
    Analyser::new().unwrap().analyse(waveform).unwrap()
}

#[test]
fn a_clip_against_itself_scores_nothing() {
    let clip = analysed(&voice(120.0, 1.0, 1.5, 22_050));
    let same = compare(&clip, &clip).unwrap();
    assert_eq!(same.distortion.0, 0.0);
    assert_eq!(same.pitch_error.unwrap().0, 0.0);
    assert_eq!(same.voicing_error, 0.0);
    assert!(same.alignment.path.iter().all(|(a, b)| a == b));
}

#[test]
fn level_and_silence_around_change_nothing() {
    let clip = voice(120.0, 1.0, 1.5, 22_050);
    let mut other = clip.clone();
    other.samples.iter_mut().for_each(|x| *x *= 0.2);
    // Whole blocks of trimming, so that frames fall on the same samples.
    other.samples.splice(0..0, vec![0.0; 221 * 40]);
    other.samples.extend(vec![0.0; 20_000]);
    let apart = compare(&analysed(&clip), &analysed(&other)).unwrap();
    assert!(apart.distortion.0 < 0.05, "{}", apart.distortion);
    assert!(apart.pitch_error.unwrap().0 < 1.0);
    assert!(apart.voicing_error < 0.01, "{}", apart.voicing_error);
}

#[test]
fn rates_are_made_equal() {
    let apart = compare(
        &analysed(&voice(120.0, 1.0, 1.5, 22_050)),
        &analysed(&voice(120.0, 1.0, 1.5, 24_000)),
    )
    .unwrap();
    assert!(apart.distortion.0 < 0.6, "{}", apart.distortion);
    assert!(apart.pitch_error.unwrap().0 < 8.0);
}

#[test]
fn another_pitch_is_told_in_cents_and_another_tract_in_decibels() {
    let clip = analysed(&voice(120.0, 1.0, 1.5, 22_050));
    let higher = compare(&clip, &analysed(&voice(160.0, 1.0, 1.5, 22_050))).unwrap();
    let expected = 1200.0 * (160.0_f64 / 120.0).log2();
    let found = higher.pitch_error.unwrap().0;
    assert!((found - expected).abs() < 15.0, "{found} for {expected}");
    assert!((higher.pitch_error_hz.unwrap().0 - 40.0).abs() < 2.0);
    let shorter = compare(&clip, &analysed(&voice(120.0, 1.25, 1.5, 22_050))).unwrap();
    assert!(shorter.distortion.0 > 2.0 * higher.distortion.0.min(1.0));
    assert!(shorter.pitch_error.unwrap().0 < 10.0);
    // Slower speech of the same is nearer than another tract.
    let slower = compare(&clip, &analysed(&voice(120.0, 1.0, 2.2, 22_050))).unwrap();
    assert!(slower.distortion.0 < shorter.distortion.0);
}

#[test]
fn clips_without_scores_say_why() {
    let mut analyser = Analyser::new().unwrap();
    let mut silent = voice(120.0, 1.0, 1.0, 22_050);
    silent.samples.fill(0.000_1);
    let empty = Waveform::default();
    let short = voice(120.0, 1.0, 0.05, 22_050);
    let words: Vec<String> = [silent, empty, short]
        .iter()
        .map(|clip| analyser.analyse(clip).unwrap_err().to_string())
        .collect();
    insta::assert_snapshot!(words.join("\n"));
}
