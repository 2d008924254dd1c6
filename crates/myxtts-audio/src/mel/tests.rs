//! The front end against a naive DFT with a dense bank, in `f64`.

use std::f64::consts::TAU;

use super::*;

/// The definition, with no table, no FFT and no sparsity.
fn reference(samples: &[f32], spec: &MelSpec) -> Vec<Vec<f64>> {
    let x = emphasised(samples, spec);
    let frames = spec.frames(Samples(x.len())).0;
    let mut rows = vec![vec![0.0; frames]; spec.bands];
    for frame in 0..frames {
        let power = power(&windowed(&x, frame, spec), spec.n_fft.0);
        for (band, row) in rows.iter_mut().enumerate() {
            let sum = weighed(&power, band, spec);
            row[frame] = match spec.compression {
                Compression::Power => sum,
                Compression::LogFloor(floor) => sum.max(f64::from(floor)).ln(),
                Compression::LogOffset(offset) => (sum + f64::from(offset)).ln(),
            };
        }
    }
    if spec.instance_norm {
        for row in &mut rows {
            let mean = row.iter().sum::<f64>() / frames as f64;
            let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / frames as f64;
            row.iter_mut()
                .for_each(|x| *x = (*x - mean) / (variance + 1e-5).sqrt());
        }
    }
    rows
}

fn emphasised(samples: &[f32], spec: &MelSpec) -> Vec<f64> {
    let x: Vec<f64> = samples.iter().map(|&x| f64::from(x)).collect();
    match spec.pre_emphasis {
        None => x,
        Some(a) => (0..x.len())
            .map(|t| x[t] - f64::from(a) * if t == 0 { x[1] } else { x[t - 1] })
            .collect(),
    }
}

/// The samples under the window of a frame; beyond its ends the recording is mirrored.
fn windowed(x: &[f64], frame: usize, spec: &MelSpec) -> Vec<f64> {
    let (n_fft, win) = (spec.n_fft.0, spec.win_length.0);
    let (mean, swing) = match spec.window {
        Window::Hann => (0.5, 0.5),
        Window::Hamming => (0.54, 0.46),
    };
    let last = (x.len() - 1) as f64;
    (0..win)
        .map(|n| {
            let at = (frame * spec.hop.0 + n + (n_fft - win) / 2) as f64 - (n_fft / 2) as f64;
            let at = if at < 0.0 {
                -at
            } else if at > last {
                2.0 * last - at
            } else {
                at
            };
            x[at as usize] * (mean - swing * (TAU * n as f64 / win as f64).cos())
        })
        .collect()
}

fn power(windowed: &[f64], n_fft: usize) -> Vec<f64> {
    (0..=n_fft / 2)
        .map(|k| {
            let (mut re, mut im) = (0.0, 0.0);
            for (n, x) in windowed.iter().enumerate() {
                let turn = TAU * ((k * n) % n_fft) as f64 / n_fft as f64;
                re += x * turn.cos();
                im += x * turn.sin();
            }
            re * re + im * im
        })
        .collect()
}

/// The power under the triangle of a band.
fn weighed(power: &[f64], band: usize, spec: &MelSpec) -> f64 {
    let mel = |f: f64| 2595.0 * (1.0 + f / 700.0).log10();
    let edge = |i: usize| {
        let m = mel(spec.f_min)
            + (mel(spec.f_max) - mel(spec.f_min)) * i as f64 / (spec.bands + 1) as f64;
        700.0 * (10.0_f64.powf(m / 2595.0) - 1.0)
    };
    let (left, centre, right) = (edge(band), edge(band + 1), edge(band + 2));
    let sum: f64 = power
        .iter()
        .enumerate()
        .map(|(k, p)| {
            let f = k as f64 * f64::from(spec.sample_rate.hz()) / spec.n_fft.0 as f64;
            p * ((f - left) / (centre - left))
                .min((right - f) / (right - centre))
                .max(0.0)
        })
        .sum();
    match spec.area_norm {
        true => sum * 2.0 / (right - left),
        false => sum,
    }
}

/// A glide with harmonics and some noise, loud and quiet in turns.
fn glide(length: usize, rate: f64) -> Vec<f32> {
    let mut seed = 1_u32;
    (0..length)
        .map(|n| {
            let t = n as f64 / rate;
            let phase = TAU * (120.0 * t + 60.0 * t * t);
            let voice: f64 = (1..12)
                .map(|k| (phase * f64::from(k)).sin() / f64::from(k))
                .sum();
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let noise = f64::from(seed >> 8) / f64::from(1 << 24) - 0.5;
            let loud = if n % 3000 < 1500 { 0.2 } else { 0.001 };
            (voice * loud + noise * 0.002) as f32
        })
        .collect()
}

#[test]
fn every_front_end_is_the_naive_one() {
    for (name, spec, length) in [
        ("dvae", MelSpec::DVAE, 4_000),
        ("conditioning", MelSpec::CONDITIONING, 3_333),
        ("speaker", MelSpec::SPEAKER, 3_001),
        ("shortest", MelSpec::DVAE, MelSpec::DVAE.shortest().0),
    ] {
        let samples = glide(length, f64::from(spec.sample_rate.hz()));
        let mel = MelFrontEnd::new(spec, None).unwrap().mel(&samples).unwrap();
        let slow = reference(&samples, &spec);
        assert_eq!(mel.frames.0, slow[0].len(), "{name}");
        let worst = mel
            .rows()
            .zip(&slow)
            .flat_map(|(fast, slow)| {
                fast.iter()
                    .zip(slow)
                    .map(|(a, b)| (f64::from(*a) - b).abs())
            })
            .fold(0.0, f64::max);
        println!("{name}: largest difference from the naive mel {worst:.1e}");
        assert!(worst < 1e-4, "{name}: {worst:.1e}");
    }
}

#[test]
fn a_front_end_remembers_nothing() {
    let mut front_end = MelFrontEnd::new(MelSpec::SPEAKER, None).unwrap();
    let (a, b) = (glide(4_000, 16_000.0), glide(700, 16_000.0));
    let fresh = front_end.mel(&b).unwrap();
    front_end.mel(&a).unwrap();
    assert_eq!(front_end.mel(&b).unwrap(), fresh);
}

#[test]
fn silence_sits_on_the_floor_and_stats_divide() {
    let stats: Vec<f32> = (1_u8..=80).map(f32::from).collect();
    let mut front_end = MelFrontEnd::new(MelSpec::DVAE, Some(stats.clone())).unwrap();
    let mel = front_end.mel(&[0.0; 2048]).unwrap();
    assert_eq!(mel.frames, Frames(9));
    for (row, stat) in mel.rows().zip(stats) {
        assert!(row.iter().all(|&x| (x - 1e-5_f32.ln() / stat).abs() < 1e-6));
    }
}

#[test]
fn a_loud_neighbour_does_not_lift_silence() {
    // Frames are transformed in pairs; one of this pair is silent.
    let mut samples = vec![0.0; 22_050];
    samples[..11_000].fill(1.0);
    let mel = MelFrontEnd::new(MelSpec::DVAE, None)
        .unwrap()
        .mel(&samples)
        .unwrap();
    let first_silent = (11_000 + 512) / 256 + 1;
    for row in mel.rows() {
        assert!(
            row[first_silent..]
                .iter()
                .all(|&x| x < 1e-5_f32.ln() + 1e-6)
        );
    }
}

#[test]
fn refusals() {
    let refused = |spec, stats| MelFrontEnd::new(spec, stats).unwrap_err().to_string();
    let changed = |change: fn(&mut MelSpec)| {
        let mut spec = MelSpec::DVAE;
        change(&mut spec);
        refused(spec, None)
    };
    let short = MelFrontEnd::new(MelSpec::DVAE, None)
        .unwrap()
        .mel(&[0.0; 512])
        .unwrap_err();
    let messages = [
        short.to_string(),
        changed(|spec| spec.hop = Samples(0)),
        changed(|spec| spec.n_fft = Samples(1023)),
        changed(|spec| spec.win_length = Samples(1025)),
        changed(|spec| spec.f_max = 12_000.0),
        changed(|spec| spec.bands = 0),
        changed(|spec| spec.compression = Compression::LogFloor(0.0)),
        changed(|spec| spec.compression = Compression::LogOffset(-1e-6)),
        refused(MelSpec::DVAE, Some(vec![1.0; 79])),
        refused(MelSpec::DVAE, Some(vec![0.0; 80])),
    ];
    insta::assert_snapshot!(messages.join("\n"));
}
