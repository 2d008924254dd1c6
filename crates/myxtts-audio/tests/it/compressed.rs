//! Recordings other programs encoded, against the signal they encoded.

use crate::support::{recording, voices};
use myxtts_audio::units::{SampleRate, Seconds};
use myxtts_audio::{Decoded, Fault, Limits, decode};

fn decoded(name: &str) -> Decoded {
    decode(&recording(name), &Limits::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn expected(name: &str) -> Vec<f32> {
    let (left, right) = voices();
    match name.starts_with("mono") {
        true => left,
        false => left
            .iter()
            .zip(&right)
            .map(|(l, r)| (l + r) / 2.0)
            .collect(),
    }
}

/// The best correlation with `expected` over the delays of an encoder, from -1
/// to 1. Levels are left out: LAME takes 5 % off.
fn likeness(samples: &[f32], expected: &[f32]) -> f64 {
    let inside = &expected[2000..6000];
    let energy = |x: &[f32]| x.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>();
    (0..=4096)
        .filter_map(|delay| samples.get(2000 + delay..6000 + delay))
        .map(|part| {
            let product: f64 = part
                .iter()
                .zip(inside)
                .map(|(a, b)| f64::from(*a) * f64::from(*b))
                .sum();
            product / (energy(part) * energy(inside)).sqrt()
        })
        .fold(-1.0, f64::max)
}

#[test]
fn flac_is_exact() {
    for (name, channels) in [("mono.flac", 1), ("stereo.flac", 2)] {
        let decoded = decoded(name);
        assert_eq!(decoded.waveform.samples, expected(name), "{name}");
        assert_eq!(
            (decoded.waveform.rate, decoded.source.channels),
            (SampleRate::XTTS, channels)
        );
    }
}

#[test]
fn lossy_formats_sound_the_same() {
    for codec in ["mp3", "ogg", "m4a"] {
        for (layout, channels) in [("mono", 1), ("stereo", 2)] {
            let name = format!("{layout}.{codec}");
            let decoded = decoded(&name);
            let (length, likeness) = (
                decoded.waveform.samples.len(),
                likeness(&decoded.waveform.samples, &expected(&name)),
            );
            println!("{name}: {length} samples, likeness {likeness:.4}");
            assert_eq!(
                (decoded.waveform.rate, decoded.source.channels),
                (SampleRate::XTTS, channels)
            );
            assert!(likeness > 0.99, "{name}: {likeness}");
            // AAC keeps its priming samples; the others are trimmed to the sample.
            let longest = if codec == "m4a" {
                8_820 + 3 * 1024
            } else {
                8_820
            };
            assert!((8_820..=longest).contains(&length), "{name}: {length}");
        }
    }
}

#[test]
fn the_limit_holds_for_every_format() {
    for name in ["mono.flac", "stereo.mp3", "mono.ogg", "stereo.m4a"] {
        let refused = decode(
            &recording(name),
            &Limits {
                longest: Seconds(0.3),
            },
        )
        .unwrap_err();
        assert!(matches!(refused.fault, Fault::TooLong { .. }), "{refused}");
    }
}
