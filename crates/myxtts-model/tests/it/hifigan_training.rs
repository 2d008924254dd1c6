//! What holds for any waveform decoder and its discriminators.

use burn::tensor::{Device, Tensor};
use myxtts_model::hifigan::{
    Discriminator, DiscriminatorConfig, HifiganConfig, HifiganDecoder, MelLoss, discriminator_loss,
    feature_matching_loss, generator_adversarial_loss, interpolate,
};
use myxtts_model::init::Init;
use myxtts_model::params;

use crate::fixtures::{gradients, scalar, values};

fn noise<const D: usize>(seed: u64, shape: [usize; D], device: &Device) -> Tensor<D> {
    Init::new(seed, device).normal(shape, 0.3).val().detach()
}

#[test]
fn folding_changes_nothing() {
    let device = Device::flex();
    let decoder = HifiganDecoder::new(&Init::new(5, &device), &HifiganConfig::tiny(16, 8)).unwrap();
    let (latents, speaker) = (noise(1, [2, 3, 16], &device), noise(2, [2, 8, 1], &device));
    let trained = values(decoder.forward(latents.clone(), speaker.clone()));
    let folded = decoder.folded();
    assert!(
        params::names(&folded)
            .iter()
            .all(|name| !name.contains("original"))
    );
    let plain = values(folded.forward(latents, speaker));
    let worst = trained
        .iter()
        .zip(&plain)
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, f32::max);
    assert!(trained.iter().any(|x| x.abs() > 1e-3));
    assert!(worst < 1e-6, "{worst:.2e}");
}

/// Against a plain loop in double precision.
#[test]
fn interpolation_is_linear_between_frame_centres() {
    let device = Device::flex();
    for (frames, scale) in [
        (7_usize, 4.0),
        (29, 24_000.0 / 22_050.0),
        (13, 1.0 / 1.3),
        (1, 4.0),
    ] {
        let x = noise(3, [1, 2, frames], &device);
        let input = values(x.clone());
        let output = interpolate(x, scale);
        let [_, _, outputs] = output.dims();
        assert_eq!(outputs, (frames as f64 * scale).floor() as usize);
        let output = values(output);
        for channel in 0..2 {
            for at in 0..outputs {
                let place = ((at as f64 + 0.5) / scale - 0.5).max(0.0);
                let left = (place.floor() as usize).min(frames - 1);
                let right = (left + 1).min(frames - 1);
                let share = place - left as f64;
                let of = |frame: usize| f64::from(input[channel * frames + frame]);
                let expected = of(left) * (1.0 - share) + of(right) * share;
                let ours = f64::from(output[channel * outputs + at]);
                assert!((ours - expected).abs() < 1e-5, "{ours} {expected}");
            }
        }
    }
}

fn discriminator(device: &Device) -> Discriminator {
    Discriminator::new(&Init::new(4, device), &DiscriminatorConfig::tiny()).unwrap()
}

#[test]
fn every_period_and_scale_judges() {
    let device = Device::flex();
    let outputs = discriminator(&device).forward(noise(6, [2, 1, 1000], &device));
    assert_eq!(outputs.len(), 5 + 3);
    let shapes: Vec<String> = outputs
        .iter()
        .map(|j| format!("{:?} after {} layers", j.score.dims(), j.features.len()))
        .collect();
    insta::assert_snapshot!(shapes.join("\n"));
}

#[test]
fn losses_are_what_their_names_say() {
    let device = Device::flex();
    let discriminator = discriminator(&device);
    let real = discriminator.forward(noise(6, [1, 1, 800], &device));
    let made = discriminator.forward(noise(7, [1, 1, 800], &device));
    let mean = |f: &dyn Fn(f32) -> f32, scores: Vec<f32>| {
        let count = scores.len() as f64;
        scores.into_iter().map(|x| f64::from(f(x))).sum::<f64>() / count
    };
    let (mut by_judges, mut by_generator, mut matching) = (0.0, 0.0, 0.0);
    for (real, made) in real.iter().zip(&made) {
        by_judges += mean(&|x| (1.0 - x).powi(2), values(real.score.clone()));
        by_judges += mean(&|x| x.powi(2), values(made.score.clone()));
        by_generator += mean(&|x| (1.0 - x).powi(2), values(made.score.clone()));
        for (real, made) in real.features.iter().zip(&made.features) {
            let difference = values(real.clone() - made.clone());
            matching += 2.0 * mean(&f32::abs, difference);
        }
    }
    let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-5 * b.abs(), "{a} {b}");
    close(scalar(discriminator_loss(&real, &made)), by_judges);
    close(scalar(generator_adversarial_loss(&made)), by_generator);
    close(scalar(feature_matching_loss(&real, &made)), matching);
    assert_eq!(scalar(feature_matching_loss(&real, &real)), 0.0);
}

#[test]
fn the_generator_learns_from_all_its_losses() {
    let device = Device::flex().autodiff();
    let decoder = HifiganDecoder::new(&Init::new(5, &device), &HifiganConfig::tiny(16, 8)).unwrap();
    let discriminator = discriminator(&device);
    let mel = MelLoss::new(&device).unwrap();
    let generate = || {
        let latents = noise(1, [1, 2, 16], &device);
        decoder.forward(latents, noise(2, [1, 8, 1], &device))
    };
    let real = noise(3, generate().dims(), &device);
    // One at a time, each over a graph of its own: backward consumes it.
    let losses: [&dyn Fn(Tensor<3>) -> Tensor<1>; 3] = [
        &|made| generator_adversarial_loss(&discriminator.forward(made)),
        &|made| {
            feature_matching_loss(
                &discriminator.forward(real.clone()),
                &discriminator.forward(made),
            )
        },
        &|made| mel.forward(real.clone(), made).unwrap() * 45.0,
    ];
    for loss in losses {
        let found = gradients(&decoder, &loss(generate()).backward());
        assert_eq!(found.len(), params::names(&decoder).len());
        assert!(found.values().flatten().any(|x| *x != 0.0));
        assert!(found.values().flatten().all(|x| x.is_finite()));
    }
    let generated = generate();
    let loss = discriminator_loss(
        &discriminator.forward(real),
        &discriminator.forward(generated.detach()),
    );
    let gradients_of_loss = loss.backward();
    assert!(gradients(&decoder, &gradients_of_loss).is_empty());
    assert_eq!(
        gradients(&discriminator, &gradients_of_loss).len(),
        params::names(&discriminator).len()
    );
}

#[test]
fn equal_waves_have_no_mel_loss() {
    let device = Device::flex();
    let mel = MelLoss::new(&device).unwrap();
    let wave = noise(1, [2, 1, 2048], &device);
    assert_eq!(
        scalar(mel.forward(wave.clone(), wave.clone()).unwrap()),
        0.0
    );
    // Twice the amplitude is ln 4 in every band.
    let louder = scalar(mel.forward(wave.clone() * 2.0, wave).unwrap());
    assert!((louder - 4.0_f64.ln()).abs() < 1e-3, "{louder}");
}
