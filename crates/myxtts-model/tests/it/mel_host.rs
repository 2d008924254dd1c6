//! The device's mels are the host's.

use burn::tensor::{Device, Tensor, TensorData};
use myxtts_audio::units::Samples;
use myxtts_audio::{MelError, MelFrontEnd, MelSpec};
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
