//! The device's mels are the host's.

use burn::tensor::{Device, Tensor, TensorData};
use myxtts_audio::units::Samples;
use myxtts_audio::{Compression, MelError, MelFrontEnd, MelSpec};
use myxtts_model::init::mix;
use myxtts_model::mel::{DeviceMel, Transform};

use crate::fixtures::values;

/// Something like speech: harmonics and a little noise, with silence at the end.
fn wave(length: usize, row: usize) -> Vec<f32> {
    (0..length)
        .map(|i| {
            let t = i as f32 / 22_050.0;
            let noise = ((i * 7919 + row * 104_729) % 1009) as f32 / 1009.0 - 0.5;
            let voice: f32 = (1_u8..9)
                .map(|k| (t * 700.0 * f32::from(k) * (1.0 + row as f32 * 0.1)).sin() / f32::from(k))
                .sum();
            if i > length - length / 5 {
                0.0
            } else {
                0.1 * voice + 0.01 * noise
            }
        })
        .collect()
}

#[test]
fn every_front_end_both_ways() {
    let device = Device::flex();
    let odd = MelSpec {
        n_fft: Samples(600),
        win_length: Samples(500),
        hop: Samples(150),
        ..MelSpec::DVAE
    };
    let stats: Vec<f32> = (0_u8..80).map(|i| 1.0 + f32::from(i) / 40.0).collect();
    for (spec, stats) in [
        (MelSpec::DVAE, Some(stats.as_slice())),
        (MelSpec::CONDITIONING, None),
        (MelSpec::SPEAKER, None),
        (odd, None),
    ] {
        let (rows, length) = (2, 9_001);
        let batch: Vec<f32> = (0..rows).flat_map(|row| wave(length, row)).collect();
        let mut host = MelFrontEnd::new(spec, stats.map(<[f32]>::to_vec)).unwrap();
        let reference: Vec<f32> = (0..rows)
            .flat_map(|row| host.mel(&wave(length, row)).unwrap().values)
            .collect();
        for transform in [Transform::of(&spec), Transform::Matrix] {
            let mel = DeviceMel::by(transform, spec, stats, &device).unwrap();
            let batch = TensorData::new(batch.clone(), [rows, length]);
            let ours = values(mel.forward(Tensor::from_data(batch, &device)).unwrap());
            let worst = ours
                .iter()
                .zip(&reference)
                .map(|(a, b)| (a - b).abs())
                .fold(0.0, f32::max);
            println!("{:?} {transform:?}: {worst:.2e}", spec.n_fft);
            assert_eq!(ours.len(), reference.len());
            assert!(worst < 1e-4, "{:?} {transform:?}: {worst:.2e}", spec.n_fft);
        }
    }
}

/// The mel of a wave as the definition has it, in double precision: no FFT, no
/// matrix, one sum per bin.
fn by_definition(spec: &MelSpec, wave: &[f32]) -> Vec<f64> {
    let (n_fft, bins) = (spec.n_fft.0, spec.n_fft.0 / 2 + 1);
    let Compression::LogFloor(floor) = spec.compression else {
        panic!("{:?}", spec.compression)
    };
    let (window, bank) = (spec.padded_window(), spec.dense_filter_bank());
    let frames = spec.frames(Samples(wave.len())).0;
    let last = wave.len() as i64 - 1;
    let turns: Vec<(f64, f64)> = (0..n_fft)
        .map(|step| (std::f64::consts::TAU * step as f64 / n_fft as f64).sin_cos())
        .collect();
    let mut mel = vec![0.0; spec.bands * frames];
    for frame in 0..frames {
        let first = (frame * spec.hop.0) as i64 - (n_fft / 2) as i64;
        let sample = |i: usize| {
            let at = (first + i as i64).abs();
            let at = if at > last { 2 * last - at } else { at };
            f64::from(wave[usize::try_from(at).unwrap()])
        };
        let samples: Vec<f64> = (0..n_fft)
            .map(|i| sample(i) * f64::from(window[i]))
            .collect();
        for bin in 0..bins {
            let mut sum = (0.0, 0.0);
            for (i, x) in samples.iter().enumerate() {
                let (sine, cosine) = turns[i * bin % n_fft];
                sum = (sum.0 + x * cosine, sum.1 + x * sine);
            }
            let power = sum.0 * sum.0 + sum.1 * sum.1;
            for band in 0..spec.bands {
                let weight = f64::from(bank[bin * spec.bands + band]);
                mel[band * frames + frame] += weight * power;
            }
        }
    }
    mel.iter().map(|x| x.max(f64::from(floor)).ln()).collect()
}

/// A voice over noise, at a loudness of its own: quiet bands beside loud ones are
/// where single precision shows.
fn drawn(length: usize, seed: u64, level: f64, noise: f64) -> Vec<f32> {
    let draw = |i: u64| (mix(seed ^ mix(i)) >> 11) as f64 / (1_u64 << 53) as f64;
    let pitch = 110.0 + 60.0 * draw(u64::MAX);
    let sample = |i: usize| {
        let t = i as f64 / 22_050.0;
        let voice: f64 = (1_u8..12)
            .map(|k| (std::f64::consts::TAU * pitch * f64::from(k) * t).sin() / f64::from(k))
            .sum();
        let hiss: f64 = (0..4).map(|n| draw(4 * i as u64 + n) - 0.5).sum();
        (level * (0.15 * voice + noise * hiss)) as f32
    };
    (0..length).map(sample).collect()
}

/// What the reference allows is 1e-4, of which its own single precision takes a part.
#[test]
fn both_ways_are_near_the_definition_however_loud_or_quiet() {
    const LENGTH: usize = 2_600;
    let device = Device::flex();
    let odd = MelSpec {
        n_fft: Samples(1200),
        win_length: Samples(1000),
        hop: Samples(300),
        ..MelSpec::DVAE
    };
    for spec in [MelSpec::DVAE, MelSpec::CONDITIONING, odd] {
        let mut worst = [0.0_f64; 2];
        for seed in 0..16 {
            let level = [1.0, 0.3, 0.1, 0.01][seed as usize % 4];
            let noise = [0.01, 0.001, 0.0001][seed as usize % 3];
            let wave = drawn(LENGTH, seed, level, noise);
            let exact = by_definition(&spec, &wave);
            let transforms = [Transform::of(&spec), Transform::Matrix];
            for (worst, transform) in worst.iter_mut().zip(transforms) {
                let mel = DeviceMel::by(transform, spec, None, &device).unwrap();
                let data = TensorData::new(wave.clone(), [1, LENGTH]);
                let ours = values(mel.forward(Tensor::from_data(data, &device)).unwrap());
                assert_eq!(ours.len(), exact.len());
                let apart = ours
                    .iter()
                    .zip(&exact)
                    .map(|(a, b)| (f64::from(*a) - b).abs());
                *worst = apart.fold(*worst, f64::max);
            }
        }
        println!("{:?}: {:.2e} {:.2e}", spec.n_fft, worst[0], worst[1]);
        assert!(
            worst[0] < 7e-5 && worst[1] < 7e-5,
            "{:?}: {worst:?}",
            spec.n_fft
        );
    }
}

#[test]
fn the_way_is_the_ffts_where_it_can_be() {
    assert_eq!(Transform::of(&MelSpec::CONDITIONING), Transform::Fft);
    let odd = MelSpec {
        n_fft: Samples(1200),
        ..MelSpec::DVAE
    };
    assert_eq!(Transform::of(&odd), Transform::Matrix);
}

#[test]
fn gradients_pass() {
    let device = Device::flex().autodiff();
    let wave = TensorData::new(wave(4_000, 0), [1, 4_000]);
    let gradient = |transform| {
        let mel = DeviceMel::by(transform, MelSpec::DVAE, None, &Device::flex()).unwrap();
        let wave = Tensor::<2>::from_data(wave.clone(), &device).require_grad();
        let loss = mel.forward(wave.clone()).unwrap().square().mean();
        values(wave.grad(&loss.backward()).unwrap())
    };
    let (fft, matrix) = (gradient(Transform::Fft), gradient(Transform::Matrix));
    let scale = fft.iter().fold(0.0_f32, |m, x| m.max(x.abs()));
    assert!(scale > 0.0);
    for (a, b) in fft.iter().zip(&matrix) {
        assert!((a - b).abs() < 1e-3 * scale, "{a} {b} of {scale}");
    }
}

#[test]
fn a_wave_too_short_to_reflect_is_refused() {
    let device = Device::flex();
    let mel = DeviceMel::new(MelSpec::DVAE, None, &device).unwrap();
    let refused = mel.forward(Tensor::zeros([1, 512], &device)).unwrap_err();
    let expected = MelError::TooShort {
        length: Samples(512),
        shortest: Samples(513),
    };
    assert_eq!(refused, expected);
    assert!(mel.forward(Tensor::zeros([1, 513], &device)).is_ok());
}
